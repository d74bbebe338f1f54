#include "agent/request.h"

#include <errno.h>

#include "agent/box.h"
#include "agent/exec.h"
#include "agent/file_reader.h"
#include "agent/file_watch.h"
#include "agent/file_writer.h"
#include "agent/fs.h"
#include "agent/job.h"
#include "agent/proc.h"
#include "agent/service.h"
#include "agent/text.h"
#include "agent/tree_stream.h"
#include "agent/tunnel.h"

/* Streams of contents, trees and changes. False: it is not one of them. */
static bool stream_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    switch (type) {
    case PROTO_FS_READ:
        agent_file_reader_start(r, data, len);
        break;
    case PROTO_FS_OPEN:
        agent_file_reader_open(r, data, len);
        break;
    case PROTO_FS_STORE:
        agent_file_writer_store(r, data, len);
        break;
    case PROTO_FS_PACK:
        agent_tree_stream_pack(r, data, len);
        break;
    case PROTO_FS_UNPACK:
        agent_tree_stream_unpack(r, data, len);
        break;
    case PROTO_FS_WATCH:
        agent_file_watch_start(r, data, len);
        break;
    case PROTO_FS_WRITE:
        agent_file_writer_start(r, data, len);
        break;
    case PROTO_FS_PUT:
        agent_file_writer_put(r, data, len);
        break;
    default:
        return false;
    }
    return true;
}

void agent_request_run(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    switch (type) {
    case PROTO_PING:
        agent_reply_done(r);
        break;
    case PROTO_HOSTNAME:
        agent_box_set_name(r, data, len);
        break;
    case PROTO_RESEED:
        agent_box_reseed(r, data, len);
        break;
    case PROTO_USAGE:
        agent_box_usage(r);
        break;
    case PROTO_EXEC_START:
        agent_exec_start(r, data, len);
        break;
    case PROTO_JOB_STATE:
    case PROTO_JOB_LOG:
    case PROTO_JOB_SIGNAL:
    case PROTO_JOB_INPUT:
    case PROTO_JOB_FORGET:
    case PROTO_JOB_WAIT:
        agent_job_request(r, type, data, len);
        break;
    case PROTO_SERVICE_DEFINE:
        agent_service_define(r, data, len);
        break;
    case PROTO_SERVICE_ACT:
        agent_service_act(r, data, len);
        break;
    case PROTO_FS_STAT:
        agent_fs_stat(r, data, len);
        break;
    case PROTO_FS_LIST:
    case PROTO_FS_SEARCH:
    case PROTO_FS_MOVE:
    case PROTO_FS_MKDIR:
    case PROTO_FS_REMOVE:
    case PROTO_FS_CHMOD:
        agent_fs_request(r, type, data, len);
        break;
    case PROTO_FS_GREP:
    case PROTO_FS_SED:
        agent_text_request(r, type, data, len);
        break;
    case PROTO_FS_CHANGE:
        agent_text_change(r, data, len);
        break;
    case PROTO_PROC_LIST:
    case PROTO_PROC_KILL:
    case PROTO_PROC_INTERRUPT:
    case PROTO_PROC_END:
        agent_proc_request(r, type, data, len);
        break;
    case PROTO_TUNNEL_OPEN:
    case PROTO_TUNNEL_AWAIT:
        agent_tunnel_start(r, type, data, len);
        break;
    default:
        if (!stream_request(r, type, data, len))
            agent_reply_error(r, ENOSYS, "request %u", type);
    }
}
