#include "guest/agent/ag_request.h"

#include <errno.h>

#include "guest/agent/ag_box.h"
#include "guest/agent/ag_exec.h"
#include "guest/agent/ag_fs.h"
#include "guest/agent/ag_job.h"
#include "guest/agent/ag_proc.h"
#include "guest/agent/ag_reader.h"
#include "guest/agent/ag_text.h"
#include "guest/agent/ag_tunnel.h"
#include "guest/agent/ag_writer.h"

void ag_request_run(struct ag_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    switch (type) {
    case PROTO_PING:
        ag_reply_done(r);
        break;
    case PROTO_HOSTNAME:
    case PROTO_RESEED:
    case PROTO_USAGE:
        ag_box_request(r, type, data, len);
        break;
    case PROTO_EXEC_START:
        ag_exec_start(r, data, len);
        break;
    case PROTO_JOB_STATE:
    case PROTO_JOB_LOG:
    case PROTO_JOB_SIGNAL:
    case PROTO_JOB_INPUT:
    case PROTO_JOB_FORGET:
    case PROTO_JOB_WAIT:
        ag_job_request(r, type, data, len);
        break;
    case PROTO_FS_READ:
        ag_reader_start(r, data, len);
        break;
    case PROTO_FS_WRITE:
        ag_writer_start(r, data, len);
        break;
    case PROTO_FS_PUT:
        ag_writer_put(r, data, len);
        break;
    case PROTO_FS_STAT:
    case PROTO_FS_LIST:
    case PROTO_FS_SEARCH:
    case PROTO_FS_MOVE:
    case PROTO_FS_MKDIR:
    case PROTO_FS_REMOVE:
    case PROTO_FS_CHMOD:
        ag_fs_request(r, type, data, len);
        break;
    case PROTO_FS_GREP:
    case PROTO_FS_SED:
    case PROTO_FS_CHANGE:
        ag_text_request(r, type, data, len);
        break;
    case PROTO_PROC_LIST:
    case PROTO_PROC_KILL:
    case PROTO_PROC_INTERRUPT:
        ag_proc_request(r, type, data, len);
        break;
    case PROTO_TUNNEL_OPEN:
        ag_tunnel_start(r, data, len);
        break;
    default:
        ag_reply_error(r, ENOSYS, "request %u", type);
    }
}
