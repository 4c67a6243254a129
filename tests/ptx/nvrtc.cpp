/*
 * nvrtc.cpp - a libnvrtc that has the real one (PTX_NVRTC) compile to PTX where machine
 * code is asked for, so that a device of the interpreter may claim to be an existing one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

enum { INTERNAL_ERROR = 11 };

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

int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                       const char *const *header, const char *const *include)
{
    return call("nvrtcCreateProgram", program, text, name, headers, header, include);
}

int nvrtcDestroyProgram(void **program)
{
    return call("nvrtcDestroyProgram", program);
}

int nvrtcGetProgramLogSize(void *program, size_t *n)
{
    return call("nvrtcGetProgramLogSize", program, n);
}

int nvrtcGetProgramLog(void *program, char *log)
{
    return call("nvrtcGetProgramLog", program, log);
}

int nvrtcSetFlowCallback(void *program, int (*stop)(void *, void *), void *user)
{
    return call("nvrtcSetFlowCallback", program, stop, user);
}

int nvrtcGetPTXSize(void *program, size_t *n)
{
    return call("nvrtcGetPTXSize", program, n);
}

int nvrtcGetPTX(void *program, char *text)
{
    return call("nvrtcGetPTX", program, text);
}

int nvrtcGetCUBINSize(void *program, size_t *n)
{
    return nvrtcGetPTXSize(program, n);
}

int nvrtcGetCUBIN(void *program, char *code)
{
    return nvrtcGetPTX(program, code);
}

const char *nvrtcGetErrorString(int result)
{
    auto *f = (const char *(*)(int))real("nvrtcGetErrorString");

    return f ? f(result) : "there is no NVRTC";
}

int nvrtcCompileProgram(void *program, int n, const char *const *options)
{
    std::vector<std::string> text(options, options + n);
    std::vector<const char *> out;

    for (auto &o : text) {
        const size_t at = o.find("=sm_");

        if (at != std::string::npos) o.replace(at, 4, "=compute_");
        out.push_back(o.c_str());
    }
    return call("nvrtcCompileProgram", program, n, (const char *const *)out.data());
}

} // extern "C"
