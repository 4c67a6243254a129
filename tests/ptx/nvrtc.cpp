/*
 * nvrtc.cpp - a libnvrtc that has the real one (PTX_NVRTC) compile to PTX where machine
 * code is asked for, so that a device of the interpreter may claim to be an existing one.
 * The text begins with a comment of its options. PTX_NVRTC_CACHE names a folder of what was
 * compiled before. PTX_NVRTC_FAULT, which is read at every call: "slow" compiles until it
 * is stopped, 20 s at most, "nap" 0.3 s longer; "fail" is an error with a log, "bytes" one
 * of reading the result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

enum { OUT_OF_MEMORY = 1, COMPILATION = 6, INTERNAL_ERROR = 11, CANCELLED = 16 };

struct Program {
    void *real = nullptr;
    std::string key; /* all that the result depends on */
    std::string log, ptx; /* log: not the real one's */
    int (*stop)(void *, void *) = nullptr;
    void *user = nullptr;
};

static void *real(const char *name)
{
    static const char *const file = getenv("PTX_NVRTC");
    static void *const library = dlopen(file ? file : REAL_NVRTC, RTLD_NOW | RTLD_LOCAL);

    return library ? dlsym(library, name) : nullptr;
}

/* Call the function of the real library that has the name `name`. */
template <class... A> static int call(const char *name, A... arguments)
{
    auto *f = (int (*)(A...))real(name);

    return f ? f(arguments...) : INTERNAL_ERROR;
}

static bool goes_wrong(const char *how)
{
    const char *fault = getenv("PTX_NVRTC_FAULT");

    return fault && !strcmp(fault, how);
}

/* Let so many milliseconds pass; returns CANCELLED when the caller stops it. */
static int linger(const Program *p, int most)
{
    for (int i = 0; i < most; i++) {
        if (p->stop && p->stop(p->user, nullptr)) return CANCELLED;
        usleep(1000);
    }
    return 0;
}

/* ---- the cache: a file holds the key, then the text ---- */

static std::string file_of(const std::string &key)
{
    const char *folder = getenv("PTX_NVRTC_CACHE");
    char name[40];

    if (!folder) return "";
    snprintf(name, sizeof name, "/%016zx.ptx", std::hash<std::string>()(key));
    return folder + std::string(name);
}

static bool find(Program *p)
{
    std::ifstream in(file_of(p->key), std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(in), {}};

    if (all.compare(0, p->key.size(), p->key) != 0 || all.size() <= p->key.size())
        return false;
    p->ptx = all.substr(p->key.size());
    return true;
}

static void keep(const Program *p)
{
    const std::string name = file_of(p->key);
    const std::string part = name + "." + std::to_string(getpid());

    if (name.empty()) return;
    std::ofstream out(part, std::ios::binary);
    out << p->key << p->ptx;
    out.close();
    if (!out || rename(part.c_str(), name.c_str()) != 0) remove(part.c_str());
}

extern "C" {

int nvrtcVersion(int *major, int *minor)
{
    return call("nvrtcVersion", major, minor);
}

int nvrtcGetNumSupportedArchs(int *n)
{
    return call("nvrtcGetNumSupportedArchs", n);
}

int nvrtcGetSupportedArchs(int *all)
{
    return call("nvrtcGetSupportedArchs", all);
}

int nvrtcCreateProgram(Program **program, const char *text, const char *name, int headers,
                       const char *const *header, const char *const *include)
{
    auto *p = new Program();
    int version[2] = {0, 0};

    nvrtcVersion(&version[0], &version[1]);
    p->key = std::to_string(version[0]) + "." + std::to_string(version[1]) + "\n" + text;
    for (int i = 0; i < headers; i++) p->key += include[i] + std::string("\n") + header[i];
    *program = p;
    return call("nvrtcCreateProgram", &p->real, text, name, headers, header, include);
}

int nvrtcDestroyProgram(Program **program)
{
    const int result = call("nvrtcDestroyProgram", &(*program)->real);

    delete *program;
    *program = nullptr;
    return result;
}

int nvrtcGetProgramLogSize(Program *p, size_t *n)
{
    if (p->log.empty()) return call("nvrtcGetProgramLogSize", p->real, n);
    *n = p->log.size() + 1;
    return 0;
}

int nvrtcGetProgramLog(Program *p, char *log)
{
    if (p->log.empty()) return call("nvrtcGetProgramLog", p->real, log);
    memcpy(log, p->log.c_str(), p->log.size() + 1);
    return 0;
}

int nvrtcSetFlowCallback(Program *p, int (*stop)(void *, void *), void *user)
{
    p->stop = stop;
    p->user = user;
    return call("nvrtcSetFlowCallback", p->real, stop, user);
}

int nvrtcGetPTXSize(Program *p, size_t *n)
{
    *n = p->ptx.size() + 1;
    return 0;
}

int nvrtcGetPTX(Program *p, char *text)
{
    memcpy(text, p->ptx.c_str(), p->ptx.size() + 1);
    return goes_wrong("bytes") ? COMPILATION : 0;
}

int nvrtcGetCUBINSize(Program *p, size_t *n)
{
    return nvrtcGetPTXSize(p, n);
}

int nvrtcGetCUBIN(Program *p, char *code)
{
    return nvrtcGetPTX(p, code);
}

const char *nvrtcGetErrorString(int result)
{
    auto *f = (const char *(*)(int))real("nvrtcGetErrorString");

    return f ? f(result) : "there is no NVRTC";
}

int nvrtcCompileProgram(Program *p, int n, const char *const *options)
{
    std::vector<std::string> text(options, options + n);
    std::vector<const char *> out;
    std::string comment = "//";
    int result = goes_wrong("slow")  ? linger(p, 20000)
                 : goes_wrong("nap") ? linger(p, 300)
                                     : 0;
    size_t size = 0;

    if (goes_wrong("fail")) {
        p->log = "note: all is well\na.cu(1): error: expected a \";\"\n  }\n  ^\n";
        return COMPILATION;
    }
    for (auto &o : text) {
        const size_t at = o.find("=sm_");

        if (at != std::string::npos) o.replace(at, 4, "=compute_");
        out.push_back(o.c_str());
        comment += " " + o;
    }
    p->key += comment + "\n";
    if (result || find(p)) return result;
    result = call("nvrtcCompileProgram", p->real, n, (const char *const *)out.data());
    if (!result) result = call("nvrtcGetPTXSize", p->real, &size);
    if (result) return result;
    std::vector<char> ptx(size + 1);
    result = call("nvrtcGetPTX", p->real, ptx.data());
    p->ptx = comment + "\n" + ptx.data();
    if (!result) keep(p);
    return result;
}

} // extern "C"
