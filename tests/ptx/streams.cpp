/* streams.cpp - see driver.h: streams, events and graphs. SPDX-License-Identifier: MIT */
#include <cstdlib>
#include <set>

#include "driver.h"

namespace ptx {

static std::set<Stream *> streams;

static bool alive(Stream *s)
{
    return s && streams.count(s) > 0;
}

/* Do the work of a stream that is before `upto`. */
static Result advance(Stream *s, uint64_t upto)
{
    while (s->done < upto && !s->waiting.empty()) {
        const Operation work = std::move(s->waiting.front());

        s->waiting.pop_front();
        s->done++;
        if (after(0) == 0) after(work());
    }
    return after(0);
}

static Result finish(Stream *s)
{
    return advance(s, s->asked);
}

Result finish_all()
{
    for (auto *s : streams) finish(s);
    return after(0);
}

Result ask(Stream *s, Operation work)
{
    static const bool at_once = getenv("PTX_AT_ONCE") != nullptr;

    if (!alive(s)) {
        misuse("stream", "is no stream");
        return INVALID_HANDLE;
    }
    if (s->capturing) {
        s->captured.push_back(std::move(work));
        return 0;
    }
    s->waiting.push_back(std::move(work));
    s->asked++;
    return at_once ? finish(s) : after(0);
}

bool any_capturing()
{
    for (auto *s : streams)
        if (s->capturing) return true;
    return false;
}

size_t streams_alive()
{
    return streams.size();
}

} // namespace ptx

using namespace ptx;

extern "C" {

Result cuStreamCreate(Stream **out, unsigned)
{
    const Lock lock;
    Result r = inside("cuStreamCreate");
    if (r) return r;
    *out = new Stream();
    streams.insert(*out);
    return 0;
}

Result cuStreamSynchronize(Stream *s)
{
    const Lock lock;
    Result r = inside("cuStreamSynchronize");
    if (r) return r;
    if (!alive(s)) {
        misuse("cuStreamSynchronize", "no stream");
        return INVALID_HANDLE;
    }
    if (s->capturing) {
        misuse("cuStreamSynchronize", "captures");
        return CAPTURE_UNSUPPORTED;
    }
    return finish(s);
}

Result cuStreamGetCtx(Stream *, void **out)
{
    *out = the_context;
    return 0;
}

Result cuStreamDestroy_v2(Stream *s)
{
    const Lock lock;
    if (!alive(s)) {
        misuse("cuStreamDestroy_v2", "no stream");
        return INVALID_HANDLE;
    }
    finish(s);
    streams.erase(s);
    delete s;
    return inside("cuStreamDestroy_v2");
}

Result cuStreamIsCapturing(Stream *s, unsigned *out)
{
    *out = s->capturing ? 1 : 0;
    return 0;
}

Result cuEventCreate(Event **out, unsigned)
{
    const Lock lock;
    Result r = inside("cuEventCreate");
    if (!r) *out = new Event();
    return r;
}

Result cuEventRecord(Event *e, Stream *s)
{
    const Lock lock;
    e->stream = s;
    e->upto = s->asked;
    return inside("cuEventRecord");
}

Result cuEventSynchronize(Event *e)
{
    const Lock lock;
    if (alive(e->stream)) advance(e->stream, e->upto);
    return inside("cuEventSynchronize");
}

Result cuStreamWaitEvent(Stream *s, Event *e, unsigned)
{
    const Lock lock;
    Stream *other = e->stream;
    const uint64_t upto = e->upto;
    Result r = inside("cuStreamWaitEvent");
    if (r || !other) return r;
    return ask(s, [other, upto] { return alive(other) ? advance(other, upto) : 0u; });
}

Result cuEventDestroy_v2(Event *e)
{
    const Lock lock;
    delete e;
    return inside("cuEventDestroy_v2");
}

Result cuStreamBeginCapture_v2(Stream *s, unsigned)
{
    const Lock lock;
    Result r = inside("cuStreamBeginCapture_v2");
    if (r) return r;
    if (s->capturing) return INVALID_VALUE;
    s->capturing = true;
    s->captured.clear();
    return 0;
}

Result cuStreamEndCapture(Stream *s, Graph **out)
{
    const Lock lock;
    if (!s->capturing) return INVALID_VALUE;
    s->capturing = false;
    *out = new Graph{s->captured};
    return inside("cuStreamEndCapture");
}

Result cuGraphInstantiateWithFlags(Graph **out, Graph *g, unsigned long long)
{
    *out = new Graph(*g);
    return inside("cuGraphInstantiateWithFlags");
}

Result cuGraphLaunch(Graph *g, Stream *s)
{
    const Lock lock;
    Result r = inside("cuGraphLaunch");
    if (r) return r;
    for (auto &work : g->work) r = ask(s, work);
    return r;
}

Result cuGraphExecDestroy(Graph *g)
{
    const Lock lock;
    finish_all();
    delete g;
    return inside("cuGraphExecDestroy");
}

Result cuGraphDestroy(Graph *g)
{
    const Lock lock;
    delete g;
    return inside("cuGraphDestroy");
}

} // extern "C"
