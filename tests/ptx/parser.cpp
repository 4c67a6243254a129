/* parser.cpp - see parser.h. SPDX-License-Identifier: MIT */
#include "parser.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace ptx {

static const char *const special_names[SPECIALS] = {"%tid.x",    "%tid.y",    "%tid.z",
                                                    "%ntid.x",   "%ntid.y",   "%ntid.z",
                                                    "%ctaid.x",  "%ctaid.y",  "%ctaid.z",
                                                    "%nctaid.x", "%nctaid.y", "%nctaid.z",
                                                    "%laneid",   "%warpid"};

int Parser::reg(const std::string &name)
{
    auto at = k->registers.find(name);
    if (at != k->registers.end()) return at->second;
    const int n = k->nregisters++;
    k->registers[name] = n;
    for (int s = 0; s < SPECIALS; s++)
        if (name == special_names[s]) k->specials.push_back({n, s});
    return n;
}

int Parser::constant(uint64_t bits)
{
    auto at = constants.find(bits);
    if (at != constants.end()) return at->second;
    const int n = k->nregisters++;
    constants[bits] = n;
    k->constants.push_back({n, bits});
    return n;
}

bool Parser::unknown(const std::string &what)
{
    if (k->unsupported.empty()) k->unsupported = what;
    return false;
}

int Parser::source(const std::string &s)
{
    uint64_t bits;
    if (number(s, bits)) return constant(bits);
    if (!s.empty() && s[0] == '%') {
        if (s.find('.') != std::string::npos || s == "%laneid" || s == "%warpid") {
            bool known = false;
            for (auto n : special_names) known |= s == n;
            if (!known) unknown("special register " + s);
        }
        return reg(s);
    }
    auto at = symbols.find(s);
    if (at != symbols.end()) return constant((uint64_t)at->second.second);
    if (s == "true") return constant(1);
    unknown("operand " + s);
    return constant(0);
}

void Parser::address(Instruction &i, const std::string &s)
{
    std::string base = s.substr(1, s.size() - 2), offset;
    const size_t plus = base.find('+');
    uint64_t bits = 0;
    if (plus != std::string::npos)
        offset = trim(base.substr(plus + 1)), base = trim(base.substr(0, plus));
    if (!offset.empty() && !number(offset, bits)) unknown("address " + s);
    i.offset = (int64_t)bits;
    i.s[3] = -1;
    if (base[0] == '%')
        i.s[3] = reg(base);
    else if (number(base, bits))
        i.offset += (int64_t)bits;
    else {
        auto at = symbols.find(base);
        if (at == symbols.end()) {
            unknown("address " + s);
            return;
        }
        i.offset += at->second.second;
        if (i.space == GENERIC) i.space = at->second.first;
    }
}

/* an operand that may be a vector, to `out`; how many */
int Parser::several(const std::string &s, int out[4], bool result)
{
    if (s[0] != '{') {
        out[0] = result ? reg(s) : source(s);
        return 1;
    }
    const Words w = operands(s.substr(1, s.size() - 2));
    for (size_t n = 0; n < w.size() && n < 4; n++)
        out[n] = w[n] == "_" ? -1 : result ? reg(w[n]) : source(w[n]);
    return (int)w.size();
}

void Parser::instruction(std::string text, int line)
{
    Instruction i;
    i.line = line;
    text = trim(text);
    if (text[0] == '@') {
        const size_t end = text.find_first_of(" \t");
        std::string g = text.substr(1, end - 1);
        if (g[0] == '!') i.negated = 1, g = g.substr(1);
        i.guard = reg(g);
        text = trim(text.substr(end));
    }
    const size_t end = text.find_first_of(" \t{[");
    const std::string opcode = text.substr(0, end);
    const Words o = end == std::string::npos ? Words() : operands(text.substr(end));
    auto named = opcode_index.find(opcode);
    if (named == opcode_index.end()) {
        named = opcode_index.emplace(opcode, (int)m.opcodes.size()).first;
        m.opcodes.push_back(opcode);
    }
    i.name = named->second;
    if (!decode(i, split(opcode, '.'), o)) unknown(text);
    k->code.push_back(i);
}

/* Read what stands before the name in a declaration, and the name. */
static Variable declared(const Words &words)
{
    static const std::map<std::string, Space> spaces = {{".shared", SHARED},
                                                        {".local", LOCAL},
                                                        {".global", GLOBAL},
                                                        {".const", CONSTANT}};
    Variable v;
    size_t count = 1;
    std::string type;

    for (size_t n = 0; n < words.size(); n++) {
        const std::string &w = words[n];
        const auto space = spaces.find(w);

        if (space != spaces.end())
            v.space = space->second;
        else if (w == ".align" && n + 1 < words.size())
            v.align = (size_t)atoi(words[++n].c_str());
        else if (w[0] == '.' && is_type(w.substr(1)))
            type = w.substr(1);
        else if (w[0] != '.')
            v.name = w;
    }
    const size_t open = v.name.find('[');
    if (open != std::string::npos) {
        count = (size_t)atoll(v.name.c_str() + open + 1);
        v.name.erase(open);
    }
    if (type.empty()) return v;
    v.element = type_bytes(type);
    v.bytes = count * v.element;
    if (!v.align) v.align = v.element;
    return v;
}

/* Declare a variable of a kernel or of the module; false: it is none. */
bool Parser::variable(const std::string &text)
{
    const size_t eq = text.find('=');
    const Variable v = declared(words(text.substr(0, eq)));

    if (v.space == GENERIC || !v.bytes || v.name.empty()) return false;
    if (v.space == SHARED || v.space == LOCAL) {
        if (!k) return false;
        size_t &used = v.space == SHARED ? k->shared_bytes : k->local_bytes;

        used = (used + v.align - 1) / v.align * v.align;
        symbols[v.name] = {v.space, (int64_t)used};
        used += v.bytes;
        return true;
    }
    const uint64_t at = memory.allocate(v.bytes, (size_t)-1);
    memset((void *)at, 0, v.bytes);
    memset(memory.find(at)->valid, 1, v.bytes);
    symbols[v.name] = {v.space, (int64_t)at};
    m.globals[v.name] = at;
    if (eq == std::string::npos) return true;
    std::string init = trim(text.substr(eq + 1));
    if (init[0] == '{') init = init.substr(1, init.size() - 2);
    size_t n = 0;
    for (auto &x : operands(init)) {
        uint64_t bits;

        if (!number(x, bits) || n + v.element > v.bytes) return false;
        memcpy((char *)at + n, &bits, v.element);
        n += v.element;
    }
    return true;
}

/* 1 where a kernel computes in float rather than in double */
static bool is_single(const Module &m, const Kernel &kernel)
{
    long more = 0;

    for (auto &i : kernel.code) {
        const std::string &name = m.opcodes[(size_t)i.name];

        if (name.starts_with("fma.") || name.starts_with("mul."))
            more += name.ends_with(".f32") ? 1 : name.ends_with(".f64") ? -1 : 0;
    }
    return more > 0;
}

void Parser::finish_kernel()
{
    k->single = is_single(m, *k);
    for (auto &j : jumps) {
        auto at = labels.find(j.second);
        if (at == labels.end())
            unknown("label " + j.second);
        else
            k->code[(size_t)j.first].target = at->second;
    }
    for (auto &u : table_uses) {
        std::vector<int> t;
        for (auto &l : label_lists[u.second]) t.push_back(labels[l]);
        k->code[(size_t)u.first].target = (int)k->tables.size();
        k->tables.push_back(t);
    }
    Instruction end;
    end.kind = RETURN;
    end.name = 0;
    k->code.push_back(end);
}

/* Read a label, and the list of branches that may follow it; false: there is none. */
bool Parser::label(size_t &at, int &line)
{
    size_t n = at;

    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '$') n++;
    if (n == at || text[n] != ':' || text[n + 1] == ':') return false;
    const std::string name = text.substr(at, n - at);
    const size_t next = text.find_first_not_of(" \t\r\n", n + 1);
    labels[name] = (int)k->code.size();
    at = n + 1;
    if (text.compare(next, 14, ".branchtargets") != 0) return true;
    const size_t end = text.find(';', next);
    label_lists[name] = operands(text.substr(next + 14, end - next - 14));
    line += (int)std::count(text.begin() + (long)at, text.begin() + (long)end, '\n');
    at = end + 1;
    return true;
}

void Parser::body(Kernel &kernel)
{
    size_t at = kernel.body;
    int depth = 1, line = kernel.line;

    k = &kernel;
    jumps.clear(), labels.clear(), constants.clear();
    label_lists.clear(), table_uses.clear();
    while (depth > 0) {
        while (isspace((unsigned char)text[at])) line += text[at++] == '\n';
        if (text[at] == '{' || text[at] == '}') {
            depth += text[at++] == '{' ? 1 : -1;
            continue;
        }
        if (label(at, line)) continue;
        const size_t end = text.find(';', at);
        const std::string s = text.substr(at, end - at);
        const bool ignored =
            s.starts_with(".reg") || s.starts_with(".loc ") || s.starts_with(".pragma");
        if (s[0] != '.')
            instruction(s, line);
        else if (!ignored && !variable(s))
            unknown(s);
        line += (int)std::count(s.begin(), s.end(), '\n');
        at = end + 1;
    }
    finish_kernel();
    k = nullptr;
}

/* Read the head of a kernel, and pass its body. */
void Parser::entry(size_t &at, int &line)
{
    auto kernel = std::make_unique<Kernel>();
    Kernel *const k = kernel.get();
    int depth = 1;
    const size_t brace = text.find('{', at);
    const std::string head = text.substr(at, brace - at);
    const size_t open = head.find('('), close = head.find(')');
    std::string name = head.substr(head.find(".entry") + 6);

    k->name = name = trim(name.substr(0, name.find('(')));
    if (open != std::string::npos)
        for (auto &p : operands(head.substr(open + 1, close - open - 1))) {
            const Variable v = declared(words(p));

            k->param_bytes = (k->param_bytes + v.align - 1) / v.align * v.align;
            symbols[v.name] = {PARAM, (int64_t)k->param_bytes};
            k->param_offsets.push_back(k->param_bytes);
            k->param_sizes.push_back(v.bytes);
            k->param_bytes += v.bytes;
        }
    line += (int)std::count(head.begin(), head.end(), '\n');
    k->body = at = brace + 1;
    k->line = line;
    for (; depth > 0 && at < text.size(); at++) {
        line += text[at] == '\n';
        depth += (text[at] == '{') - (text[at] == '}');
    }
    m.kernels[name] = std::move(kernel);
}

/* comments become blanks */
static std::string without_comments(std::string text)
{
    for (size_t n = 0; n + 1 < text.size(); n++) {
        if (text[n] != '/' || (text[n + 1] != '/' && text[n + 1] != '*')) continue;
        const bool whole = text[n + 1] == '*';
        size_t end = text.find(whole ? "*/" : "\n", n);
        if (end == std::string::npos)
            end = text.size();
        else if (whole)
            end += 2;
        for (; n < end; n++)
            if (text[n] != '\n') text[n] = ' ';
    }
    return text;
}

void Parser::module()
{
    size_t at = 0;
    int line = 1;

    m.opcodes.push_back("end");
    for (;;) {
        while (at < text.size() && isspace((unsigned char)text[at]))
            line += text[at++] == '\n';
        if (at >= text.size() || !text[at]) return;
        if (text.compare(at, 8, ".version") == 0 || text.compare(at, 7, ".target") == 0
            || text.compare(at, 13, ".address_size") == 0) {
            const size_t end = text.find('\n', at);

            if (text[at + 1] == 't') m.target = trim(text.substr(at + 7, end - at - 7));
            at = end;
            continue;
        }
        const size_t stop = text.find_first_of(";{", at);
        if (stop == std::string::npos) return;
        const std::string head = text.substr(at, stop - at);
        if (head.find(".entry") != std::string::npos) {
            entry(at, line);
        } else if (head.find(".func") != std::string::npos) {
            throw std::string("a .func: calls of functions are not supported");
        } else {
            const size_t end = text.find(';', at);
            const std::string s = text.substr(at, end - at);

            if (!variable(s)) throw "not understood: " + s.substr(0, 200);
            line += (int)std::count(s.begin(), s.end(), '\n');
            at = end + 1;
        }
    }
}

std::unique_ptr<Module> parse(const std::string &text, Memory &memory)
{
    auto m = std::make_unique<Module>();

    m->parser = std::make_shared<Parser>(*m, memory, without_comments(text));
    m->parser->module();
    return m;
}

void complete(Module &module, Kernel &kernel)
{
    if (kernel.code.empty()) module.parser->body(kernel);
}

} // namespace ptx
