/* Generated from docs/openapi.json by tools/sdkgen; do not edit. */
#include "call.h"
#include "tables.h"

int iii_sandbox_create(iii_client *client, const struct iii_sandbox_create_options *options,
                       struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes", NULL);
    iii_call_options(&c, &iii_type_sandbox_create_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_list(iii_client *client, const struct iii_sandbox_list_options *options, struct iii_sandbox_page **ret,
                     struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes", NULL);
    iii_call_options(&c, &iii_type_sandbox_list_options, options);
    return iii_call_run(&c, &iii_type_sandbox_page, (void **)ret, err);
}

int iii_sandbox_get(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_kill(const iii_sandbox *sandbox, struct iii_success **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "DELETE", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_sandbox_pause(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/pause", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_resume(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/resume", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_stop(const iii_sandbox *sandbox, const struct iii_sandbox_stop_options *options,
                     struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/stop", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_stop_options, options);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_start(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/start", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_restart(const iii_sandbox *sandbox, const struct iii_sandbox_restart_options *options,
                        struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/restart", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_restart_options, options);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_hibernate(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/hibernate", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_policy(const iii_sandbox *sandbox, const struct iii_sandbox_policy_options *options,
                       struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/policy", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_policy_options, options);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_renew(const iii_sandbox *sandbox, int64_t expires_at, struct iii_sandbox_info **ret,
                      struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/renew", iii_sandbox_id(sandbox), NULL);
    iii_call_integer(&c, "expiresAt", IN_BODY, expires_at);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_resize(const iii_sandbox *sandbox, const struct iii_sandbox_resize_options *options,
                       struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/limits", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_resize_options, options);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_label(const iii_sandbox *sandbox, const struct iii_sandbox_label_options *options,
                      struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/metadata", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_label_options, options);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_clone(const iii_sandbox *sandbox, const struct iii_sandbox_clone_options *options,
                      struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/clone", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_clone_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_sandbox_fork(const iii_sandbox *sandbox, const struct iii_sandbox_fork_options *options,
                     struct iii_sandbox_fork **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/fork", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_sandbox_fork_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_sandbox_fork, (void **)ret, err);
}

int iii_cmd_run(const iii_sandbox *sandbox, struct iii_command command, const struct iii_cmd_run_options *options,
                struct iii_exec_result **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec", iii_sandbox_id(sandbox), NULL);
    iii_call_command(&c, "command", IN_BODY, command);
    iii_call_options(&c, &iii_type_cmd_run_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_exec_result, (void **)ret, err);
}

int iii_cmd_run_stream(const iii_sandbox *sandbox, struct iii_command command,
                       const struct iii_cmd_run_stream_options *options, iii_exec_stream_chunk_fn *on_event, void *arg,
                       struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/stream", iii_sandbox_id(sandbox), NULL);
    iii_call_command(&c, "command", IN_BODY, command);
    iii_call_options(&c, &iii_type_cmd_run_stream_options, options);
    return iii_call_stream(&c, &iii_type_exec_stream_chunk, (iii_event_fn *)on_event, arg, err);
}

int iii_cmd_background(const iii_sandbox *sandbox, struct iii_command command,
                       const struct iii_cmd_background_options *options, struct iii_background_exec **ret,
                       struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/background", iii_sandbox_id(sandbox), NULL);
    iii_call_command(&c, "command", IN_BODY, command);
    iii_call_options(&c, &iii_type_cmd_background_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_background_exec, (void **)ret, err);
}

int iii_cmd_background_status(iii_client *client, const char *id, struct iii_background_exec **ret,
                              struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/exec/background/{id}/status", id, NULL);
    return iii_call_run(&c, &iii_type_background_exec, (void **)ret, err);
}

int iii_cmd_background_logs(iii_client *client, const char *id, const struct iii_cmd_background_logs_options *options,
                            struct iii_background_logs **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/exec/background/{id}/logs", id, NULL);
    iii_call_options(&c, &iii_type_cmd_background_logs_options, options);
    return iii_call_run(&c, &iii_type_background_logs, (void **)ret, err);
}

int iii_cmd_interrupt(const iii_sandbox *sandbox, const struct iii_cmd_interrupt_options *options,
                      struct iii_success **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/interrupt", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_cmd_interrupt_options, options);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_exec_start(const iii_sandbox *sandbox, struct iii_command command, const struct iii_exec_start_options *options,
                   struct iii_durable_exec **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/start", iii_sandbox_id(sandbox), NULL);
    iii_call_command(&c, "command", IN_BODY, command);
    iii_call_options(&c, &iii_type_exec_start_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_durable_exec, (void **)ret, err);
}

int iii_exec_list(const iii_sandbox *sandbox, struct iii_durable_exec_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/list", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_durable_exec_list, (void **)ret, err);
}

int iii_exec_get(iii_client *client, const char *exec_id, struct iii_durable_exec **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/exec/{execId}", exec_id, NULL);
    return iii_call_run(&c, &iii_type_durable_exec, (void **)ret, err);
}

int iii_exec_output(iii_client *client, const char *exec_id, const struct iii_exec_output_options *options,
                    struct iii_exec_output **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/exec/{execId}/output", exec_id, NULL);
    iii_call_options(&c, &iii_type_exec_output_options, options);
    return iii_call_run(&c, &iii_type_exec_output, (void **)ret, err);
}

int iii_exec_output_events(iii_client *client, const char *exec_id, const struct iii_exec_output_options *options,
                           iii_exec_output_event_fn *on_event, void *arg, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/exec/{execId}/output", exec_id, NULL);
    iii_call_options(&c, &iii_type_exec_output_options, options);
    return iii_call_stream(&c, &iii_type_exec_output_event, (iii_event_fn *)on_event, arg, err);
}

int iii_exec_input(iii_client *client, const char *exec_id, const struct iii_exec_input_options *options,
                   struct iii_exec_written **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/exec/{execId}/input", exec_id, NULL);
    iii_call_options(&c, &iii_type_exec_input_options, options);
    return iii_call_run(&c, &iii_type_exec_written, (void **)ret, err);
}

int iii_exec_signal(iii_client *client, const char *exec_id, const struct iii_exec_signal_options *options,
                    struct iii_exec_signalled **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/exec/{execId}/signal", exec_id, NULL);
    iii_call_options(&c, &iii_type_exec_signal_options, options);
    return iii_call_run(&c, &iii_type_exec_signalled, (void **)ret, err);
}

int iii_queue_submit(const iii_sandbox *sandbox, struct iii_command command,
                     const struct iii_queue_submit_options *options, struct iii_queue_job_info **ret,
                     struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/queue", iii_sandbox_id(sandbox), NULL);
    iii_call_command(&c, "command", IN_BODY, command);
    iii_call_options(&c, &iii_type_queue_submit_options, options);
    iii_call_key(&c, options ? options->idempotency_key : NULL);
    return iii_call_run(&c, &iii_type_queue_job_info, (void **)ret, err);
}

int iii_queue_list(const iii_sandbox *sandbox, const struct iii_queue_list_options *options,
                   struct iii_queue_job_page **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/queue", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_queue_list_options, options);
    return iii_call_run(&c, &iii_type_queue_job_page, (void **)ret, err);
}

int iii_queue_status(iii_client *client, const char *job_id, struct iii_queue_job_info **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/queue/{jobId}/status", job_id, NULL);
    return iii_call_run(&c, &iii_type_queue_job_info, (void **)ret, err);
}

int iii_queue_cancel(iii_client *client, const char *job_id, struct iii_queue_cancelled **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/queue/{jobId}/cancel", job_id, NULL);
    return iii_call_run(&c, &iii_type_queue_cancelled, (void **)ret, err);
}

int iii_queue_retry(iii_client *client, const char *job_id, struct iii_queue_job_info **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/queue/{jobId}/retry", job_id, NULL);
    return iii_call_run(&c, &iii_type_queue_job_info, (void **)ret, err);
}

int iii_queue_dlq(iii_client *client, const struct iii_queue_dlq_options *options, struct iii_queue_job_page **ret,
                  struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/queue/dlq", NULL);
    iii_call_options(&c, &iii_type_queue_dlq_options, options);
    return iii_call_run(&c, &iii_type_queue_job_page, (void **)ret, err);
}

int iii_fs_read(const iii_sandbox *sandbox, const char *path, struct iii_text **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/read", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    return iii_call_run(&c, &iii_type_text, (void **)ret, err);
}

int iii_fs_write(const iii_sandbox *sandbox, const char *path, const char *content, struct iii_success **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/write", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    iii_call_text(&c, "content", IN_BODY, content);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_delete(const iii_sandbox *sandbox, const char *path, struct iii_success **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/delete", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_list(const iii_sandbox *sandbox, const struct iii_fs_list_options *options, struct iii_file_info_list **ret,
                struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/list", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_fs_list_options, options);
    return iii_call_run(&c, &iii_type_file_info_list, (void **)ret, err);
}

int iii_fs_search(const iii_sandbox *sandbox, const char *pattern, const struct iii_fs_search_options *options,
                  struct iii_path_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/search", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "pattern", IN_BODY, pattern);
    iii_call_options(&c, &iii_type_fs_search_options, options);
    return iii_call_run(&c, &iii_type_path_list, (void **)ret, err);
}

int iii_fs_upload(const iii_sandbox *sandbox, const char *path, const char *content, struct iii_success **ret,
                  struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/upload", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    iii_call_text(&c, "content", IN_BODY, content);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_download(const iii_sandbox *sandbox, const char *path, struct iii_base64 **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/download", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    return iii_call_run(&c, &iii_type_base64, (void **)ret, err);
}

int iii_fs_info(const iii_sandbox *sandbox, const struct iii_fs_info_options *options, struct iii_file_info_reply **ret,
                struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/info", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_fs_info_options, options);
    return iii_call_run(&c, &iii_type_file_info_reply, (void **)ret, err);
}

int iii_fs_move(const iii_sandbox *sandbox, const struct iii_fs_move_move *moves, size_t moves_count,
                struct iii_success **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/move", iii_sandbox_id(sandbox), NULL);
    iii_call_objects(&c, "moves", IN_BODY, &iii_type_fs_move_move, moves, moves_count);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_mkdir(const iii_sandbox *sandbox, const struct iii_fs_mkdir_options *options, struct iii_success **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/mkdir", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_fs_mkdir_options, options);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_rmdir(const iii_sandbox *sandbox, const struct iii_fs_rmdir_options *options, struct iii_success **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/rmdir", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_fs_rmdir_options, options);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_chmod(const iii_sandbox *sandbox, const char *path, const char *mode, struct iii_success **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/chmod", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    iii_call_text(&c, "mode", IN_BODY, mode);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_fs_watch(const iii_sandbox *sandbox, const struct iii_fs_watch_options *options, iii_file_event_fn *on_event,
                 void *arg, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/watch", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_fs_watch_options, options);
    return iii_call_stream(&c, &iii_type_file_event, (iii_event_fn *)on_event, arg, err);
}

int iii_fs_sign(const iii_sandbox *sandbox, const char *path, const struct iii_fs_sign_options *options,
                struct iii_file_url **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/sign", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "path", IN_BODY, path);
    iii_call_options(&c, &iii_type_fs_sign_options, options);
    return iii_call_run(&c, &iii_type_file_url, (void **)ret, err);
}

int iii_link_rotate(iii_client *client, struct iii_success **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/links/rotate", NULL);
    return iii_call_run(&c, &iii_type_success, (void **)ret, err);
}

int iii_env_get(const iii_sandbox *sandbox, const char *key, struct iii_env_value **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/env/get", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "key", IN_BODY, key);
    return iii_call_run(&c, &iii_type_env_value, (void **)ret, err);
}

int iii_env_set(const iii_sandbox *sandbox, const struct iii_pair *vars, size_t vars_count, struct iii_env_set **ret,
                struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/env", iii_sandbox_id(sandbox), NULL);
    iii_call_pairs(&c, "vars", IN_BODY, vars, vars_count);
    return iii_call_run(&c, &iii_type_env_set, (void **)ret, err);
}

int iii_env_list(const iii_sandbox *sandbox, struct iii_env_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/env", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_env_list, (void **)ret, err);
}

int iii_env_delete(const iii_sandbox *sandbox, const char *key, struct iii_env_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/env/delete", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "key", IN_BODY, key);
    return iii_call_run(&c, &iii_type_env_deleted, (void **)ret, err);
}

int iii_proc_list(const iii_sandbox *sandbox, struct iii_process_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/processes", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_process_list, (void **)ret, err);
}

int iii_proc_top(const iii_sandbox *sandbox, struct iii_process_top **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/processes/top", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_process_top, (void **)ret, err);
}

int iii_proc_kill(const iii_sandbox *sandbox, int64_t pid, const struct iii_proc_kill_options *options,
                  struct iii_process_killed **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/processes/kill", iii_sandbox_id(sandbox), NULL);
    iii_call_integer(&c, "pid", IN_BODY, pid);
    iii_call_options(&c, &iii_type_proc_kill_options, options);
    return iii_call_run(&c, &iii_type_process_killed, (void **)ret, err);
}

int iii_service_list(const iii_sandbox *sandbox, const struct iii_service_list_options *options,
                     struct iii_service_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE | CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/services", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_service_list_options, options);
    return iii_call_run(&c, &iii_type_service_list, (void **)ret, err);
}

int iii_service_start(const iii_sandbox *sandbox, const char *name, struct iii_service **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/services/{name}/start", iii_sandbox_id(sandbox), name, NULL);
    return iii_call_run(&c, &iii_type_service, (void **)ret, err);
}

int iii_service_stop(const iii_sandbox *sandbox, const char *name, struct iii_service **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/services/{name}/stop", iii_sandbox_id(sandbox), name, NULL);
    return iii_call_run(&c, &iii_type_service, (void **)ret, err);
}

int iii_service_restart(const iii_sandbox *sandbox, const char *name, struct iii_service **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/services/{name}/restart", iii_sandbox_id(sandbox), name, NULL);
    return iii_call_run(&c, &iii_type_service, (void **)ret, err);
}

int iii_service_logs(const iii_sandbox *sandbox, const char *name, const struct iii_service_logs_options *options,
                     struct iii_service_output **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/services/{name}/logs", iii_sandbox_id(sandbox), name, NULL);
    iii_call_options(&c, &iii_type_service_logs_options, options);
    return iii_call_run(&c, &iii_type_service_output, (void **)ret, err);
}

int iii_service_logs_events(const iii_sandbox *sandbox, const char *name,
                            const struct iii_service_logs_options *options, iii_service_output_event_fn *on_event,
                            void *arg, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/services/{name}/logs", iii_sandbox_id(sandbox), name, NULL);
    iii_call_options(&c, &iii_type_service_logs_options, options);
    return iii_call_stream(&c, &iii_type_service_output_event, (iii_event_fn *)on_event, arg, err);
}

int iii_git_clone(const iii_sandbox *sandbox, const char *url, const struct iii_git_clone_options *options,
                  struct iii_exec_result **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/clone", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "url", IN_BODY, url);
    iii_call_options(&c, &iii_type_git_clone_options, options);
    return iii_call_command_run(&c, "git clone", ret, err);
}

int iii_git_status(const iii_sandbox *sandbox, const struct iii_git_status_options *options,
                   struct iii_git_status **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE | CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/status", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_git_status_options, options);
    return iii_call_run(&c, &iii_type_git_status, (void **)ret, err);
}

int iii_git_commit(const iii_sandbox *sandbox, const char *message, const struct iii_git_commit_options *options,
                   struct iii_exec_result **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/commit", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "message", IN_BODY, message);
    iii_call_options(&c, &iii_type_git_commit_options, options);
    return iii_call_run(&c, &iii_type_exec_result, (void **)ret, err);
}

int iii_git_diff(const iii_sandbox *sandbox, const struct iii_git_diff_options *options, struct iii_git_diff **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE | CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/diff", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_git_diff_options, options);
    return iii_call_run(&c, &iii_type_git_diff, (void **)ret, err);
}

int iii_git_log(const iii_sandbox *sandbox, const struct iii_git_log_options *options, struct iii_git_log **ret,
                struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE | CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/log", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_git_log_options, options);
    return iii_call_run(&c, &iii_type_git_log, (void **)ret, err);
}

int iii_git_branch(const iii_sandbox *sandbox, const struct iii_git_branch_options *options,
                   struct iii_git_branches **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/branch", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_git_branch_options, options);
    return iii_call_run(&c, &iii_type_git_branches, (void **)ret, err);
}

int iii_git_checkout(const iii_sandbox *sandbox, const char *ref, const struct iii_git_checkout_options *options,
                     struct iii_exec_result **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/checkout", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "ref", IN_BODY, ref);
    iii_call_options(&c, &iii_type_git_checkout_options, options);
    return iii_call_run(&c, &iii_type_exec_result, (void **)ret, err);
}

int iii_git_push(const iii_sandbox *sandbox, const struct iii_git_push_options *options, struct iii_exec_result **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/push", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_git_push_options, options);
    return iii_call_run(&c, &iii_type_exec_result, (void **)ret, err);
}

int iii_git_pull(const iii_sandbox *sandbox, const struct iii_git_pull_options *options, struct iii_exec_result **ret,
                 struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/git/pull", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_git_pull_options, options);
    return iii_call_run(&c, &iii_type_exec_result, (void **)ret, err);
}

int iii_template_create(iii_client *client, const char *name, const struct iii_template_create_config *config,
                        const struct iii_template_create_options *options, struct iii_sandbox_template **ret,
                        struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/templates", NULL);
    iii_call_text(&c, "name", IN_BODY, name);
    iii_call_object(&c, "config", IN_BODY, &iii_type_template_create_config, config);
    iii_call_options(&c, &iii_type_template_create_options, options);
    return iii_call_run(&c, &iii_type_sandbox_template, (void **)ret, err);
}

int iii_template_list(iii_client *client, struct iii_template_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/templates", NULL);
    return iii_call_run(&c, &iii_type_template_list, (void **)ret, err);
}

int iii_template_get(iii_client *client, const char *id, struct iii_sandbox_template **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/templates/{id}", id, NULL);
    return iii_call_run(&c, &iii_type_sandbox_template, (void **)ret, err);
}

int iii_template_delete(iii_client *client, const char *id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/templates/{id}", id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_image_list(iii_client *client, struct iii_image_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/images", NULL);
    return iii_call_run(&c, &iii_type_image_list, (void **)ret, err);
}

int iii_image_delete_query(iii_client *client, const char *name, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/images", NULL);
    iii_call_text(&c, "name", IN_QUERY, name);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_image_pull(iii_client *client, const char *image, struct iii_image **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/images/pull", NULL);
    iii_call_text(&c, "image", IN_BODY, image);
    return iii_call_run(&c, &iii_type_image, (void **)ret, err);
}

int iii_image_pull_events(iii_client *client, const char *image, iii_image_event_fn *on_event, void *arg,
                          struct iii_error *err)
{
    struct call c = iii_call(client, "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/images/pull", NULL);
    iii_call_text(&c, "image", IN_BODY, image);
    return iii_call_stream(&c, &iii_type_image_event, (iii_event_fn *)on_event, arg, err);
}

int iii_image_verify(iii_client *client, const char *name, struct iii_image_verification **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/images/verify", NULL);
    iii_call_text(&c, "name", IN_QUERY, name);
    return iii_call_run(&c, &iii_type_image_verification, (void **)ret, err);
}

int iii_image_inspect(iii_client *client, const char *name, struct iii_image_details **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/images/inspect", NULL);
    iii_call_text(&c, "name", IN_QUERY, name);
    return iii_call_run(&c, &iii_type_image_details, (void **)ret, err);
}

int iii_image_delete(iii_client *client, const char *name, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/images/{name}", name, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_snapshot_create(const iii_sandbox *sandbox, const struct iii_snapshot_create_options *options,
                        struct iii_snapshot_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/snapshots", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_snapshot_create_options, options);
    return iii_call_run(&c, &iii_type_snapshot_info, (void **)ret, err);
}

int iii_snapshot_list(const iii_sandbox *sandbox, struct iii_snapshot_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/snapshots", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_snapshot_list, (void **)ret, err);
}

int iii_snapshot_restore(const iii_sandbox *sandbox, const char *snapshot_id, struct iii_sandbox_info **ret,
                         struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/snapshots/restore", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "snapshotId", IN_BODY, snapshot_id);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_snapshot_clone(iii_client *client, const char *snapshot_id, const struct iii_snapshot_clone_options *options,
                       struct iii_sandbox_info **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/snapshots/{snapshotId}/clone", snapshot_id, NULL);
    iii_call_options(&c, &iii_type_snapshot_clone_options, options);
    return iii_call_run(&c, &iii_type_sandbox_info, (void **)ret, err);
}

int iii_snapshot_delete(iii_client *client, const char *snapshot_id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/snapshots/{snapshotId}", snapshot_id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_snapshot_create_short(const iii_sandbox *sandbox, const struct iii_snapshot_create_short_options *options,
                              struct iii_snapshot_info **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/snapshot", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_snapshot_create_short_options, options);
    return iii_call_run(&c, &iii_type_snapshot_info, (void **)ret, err);
}

int iii_metrics_sandbox(const iii_sandbox *sandbox, struct iii_sandbox_metrics **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/metrics", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_sandbox_metrics, (void **)ret, err);
}

int iii_metrics_global(iii_client *client, struct iii_global_metrics **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/metrics", NULL);
    return iii_call_run(&c, &iii_type_global_metrics, (void **)ret, err);
}

int iii_health(iii_client *client, struct iii_health **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/health", NULL);
    return iii_call_run(&c, &iii_type_health, (void **)ret, err);
}

int iii_pool_status(iii_client *client, struct iii_pool_status **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/pool/status", NULL);
    return iii_call_run(&c, &iii_type_pool_status, (void **)ret, err);
}

int iii_ttl_sweep(iii_client *client, struct iii_swept **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/admin/sweep", NULL);
    return iii_call_run(&c, &iii_type_swept, (void **)ret, err);
}

int iii_openapi(iii_client *client, struct iii_open_api **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/openapi.json", NULL);
    return iii_call_run(&c, &iii_type_open_api, (void **)ret, err);
}

int iii_interp_execute(const iii_sandbox *sandbox, const char *code, const struct iii_interp_execute_options *options,
                       struct iii_code_result **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/execute", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "code", IN_BODY, code);
    iii_call_options(&c, &iii_type_interp_execute_options, options);
    return iii_call_run(&c, &iii_type_code_result, (void **)ret, err);
}

int iii_interp_install(const iii_sandbox *sandbox, const char *const *packages, size_t packages_count,
                       const struct iii_interp_install_options *options, struct iii_install_result **ret,
                       struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/install", iii_sandbox_id(sandbox), NULL);
    iii_call_texts(&c, "packages", IN_BODY, packages, packages_count);
    iii_call_options(&c, &iii_type_interp_install_options, options);
    return iii_call_run(&c, &iii_type_install_result, (void **)ret, err);
}

int iii_interp_kernels(const iii_sandbox *sandbox, struct iii_kernel_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/kernels", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_kernel_list, (void **)ret, err);
}

int iii_context_create(const iii_sandbox *sandbox, const struct iii_context_create_options *options,
                       struct iii_context **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_context_create_options, options);
    return iii_call_run(&c, &iii_type_context, (void **)ret, err);
}

int iii_context_list(const iii_sandbox *sandbox, struct iii_context_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_context_list, (void **)ret, err);
}

int iii_context_get(const iii_sandbox *sandbox, const char *context_id, struct iii_context **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}", iii_sandbox_id(sandbox), context_id,
                  NULL);
    return iii_call_run(&c, &iii_type_context, (void **)ret, err);
}

int iii_context_delete(const iii_sandbox *sandbox, const char *context_id, struct iii_context_deleted **ret,
                       struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "DELETE", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}", iii_sandbox_id(sandbox), context_id,
                  NULL);
    return iii_call_run(&c, &iii_type_context_deleted, (void **)ret, err);
}

int iii_context_execute(const iii_sandbox *sandbox, const char *context_id, const char *code,
                        const struct iii_context_execute_options *options, struct iii_context_result **ret,
                        struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}/execute", iii_sandbox_id(sandbox),
                  context_id, NULL);
    iii_call_text(&c, "code", IN_BODY, code);
    iii_call_options(&c, &iii_type_context_execute_options, options);
    return iii_call_run(&c, &iii_type_context_result, (void **)ret, err);
}

int iii_context_execute_stream(const iii_sandbox *sandbox, const char *context_id, const char *code,
                               const struct iii_context_execute_stream_options *options, iii_context_event_fn *on_event,
                               void *arg, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}/execute/stream", iii_sandbox_id(sandbox),
                  context_id, NULL);
    iii_call_text(&c, "code", IN_BODY, code);
    iii_call_options(&c, &iii_type_context_execute_stream_options, options);
    return iii_call_stream(&c, &iii_type_context_event, (iii_event_fn *)on_event, arg, err);
}

int iii_context_interrupt(const iii_sandbox *sandbox, const char *context_id, struct iii_context_interrupted **ret,
                          struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}/interrupt", iii_sandbox_id(sandbox),
                  context_id, NULL);
    return iii_call_run(&c, &iii_type_context_interrupted, (void **)ret, err);
}

int iii_context_restart(const iii_sandbox *sandbox, const char *context_id, struct iii_context **ret,
                        struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}/restart", iii_sandbox_id(sandbox),
                  context_id, NULL);
    return iii_call_run(&c, &iii_type_context, (void **)ret, err);
}

int iii_port_expose(const iii_sandbox *sandbox, int64_t container_port, const struct iii_port_expose_options *options,
                    struct iii_port_mapping **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/ports", iii_sandbox_id(sandbox), NULL);
    iii_call_integer(&c, "containerPort", IN_BODY, container_port);
    iii_call_options(&c, &iii_type_port_expose_options, options);
    return iii_call_run(&c, &iii_type_port_mapping, (void **)ret, err);
}

int iii_port_list(const iii_sandbox *sandbox, struct iii_port_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/ports", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_port_list, (void **)ret, err);
}

int iii_port_unexpose(const iii_sandbox *sandbox, int64_t container_port, struct iii_port_removed **ret,
                      struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "DELETE", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/ports", iii_sandbox_id(sandbox), NULL);
    iii_call_integer(&c, "containerPort", IN_QUERY, container_port);
    return iii_call_run(&c, &iii_type_port_removed, (void **)ret, err);
}

int iii_preview_open(const iii_sandbox *sandbox, int64_t port, const struct iii_preview_open_options *options,
                     struct iii_preview **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/preview", iii_sandbox_id(sandbox), NULL);
    iii_call_integer(&c, "port", IN_BODY, port);
    iii_call_options(&c, &iii_type_preview_open_options, options);
    return iii_call_run(&c, &iii_type_preview, (void **)ret, err);
}

int iii_proxy_request(const iii_sandbox *sandbox, int64_t port, const struct iii_proxy_request_options *options,
                      struct iii_proxy_reply **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/proxy/{id}/{port}", iii_sandbox_id(sandbox), iii_call_digits(&c, port), NULL);
    iii_call_options(&c, &iii_type_proxy_request_options, options);
    return iii_call_run(&c, &iii_type_proxy_reply, (void **)ret, err);
}

int iii_proxy_config(const iii_sandbox *sandbox, const struct iii_proxy_config_options *options,
                     struct iii_proxy_config **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/proxy/config", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_proxy_config_options, options);
    return iii_call_run(&c, &iii_type_proxy_config, (void **)ret, err);
}

int iii_terminal_create(const iii_sandbox *sandbox, const struct iii_terminal_create_options *options,
                        struct iii_terminal_session **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/terminal", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_terminal_create_options, options);
    return iii_call_run(&c, &iii_type_terminal_session, (void **)ret, err);
}

int iii_terminal_resize(const iii_sandbox *sandbox, const char *session_id, int64_t cols, int64_t rows,
                        struct iii_terminal_size **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/terminal/{sessionId}/resize", iii_sandbox_id(sandbox), session_id, NULL);
    iii_call_integer(&c, "cols", IN_BODY, cols);
    iii_call_integer(&c, "rows", IN_BODY, rows);
    return iii_call_run(&c, &iii_type_terminal_size, (void **)ret, err);
}

int iii_terminal_close(const iii_sandbox *sandbox, const char *session_id, struct iii_terminal_closed **ret,
                       struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "DELETE", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/terminal/{sessionId}", iii_sandbox_id(sandbox), session_id, NULL);
    return iii_call_run(&c, &iii_type_terminal_closed, (void **)ret, err);
}

int iii_token_create(iii_client *client, const char *name, const struct iii_token_create_options *options,
                     struct iii_token **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/tokens", NULL);
    iii_call_text(&c, "name", IN_BODY, name);
    iii_call_options(&c, &iii_type_token_create_options, options);
    return iii_call_run(&c, &iii_type_token, (void **)ret, err);
}

int iii_token_list(iii_client *client, struct iii_token_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/tokens", NULL);
    return iii_call_run(&c, &iii_type_token_list, (void **)ret, err);
}

int iii_token_get(iii_client *client, const char *token_id, struct iii_token **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/tokens/{tokenId}", token_id, NULL);
    return iii_call_run(&c, &iii_type_token, (void **)ret, err);
}

int iii_token_revoke(iii_client *client, const char *token_id, struct iii_token **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/tokens/{tokenId}", token_id, NULL);
    return iii_call_run(&c, &iii_type_token, (void **)ret, err);
}

int iii_token_rotate(iii_client *client, const char *token_id, struct iii_token **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/tokens/{tokenId}/rotate", token_id, NULL);
    return iii_call_run(&c, &iii_type_token, (void **)ret, err);
}

int iii_ssh_key_add(iii_client *client, const char *public_key, const struct iii_ssh_key_add_options *options,
                    struct iii_ssh_key **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/ssh/keys", NULL);
    iii_call_text(&c, "publicKey", IN_BODY, public_key);
    iii_call_options(&c, &iii_type_ssh_key_add_options, options);
    return iii_call_run(&c, &iii_type_ssh_key, (void **)ret, err);
}

int iii_ssh_key_list(iii_client *client, struct iii_ssh_key_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/ssh/keys", NULL);
    return iii_call_run(&c, &iii_type_ssh_key_list, (void **)ret, err);
}

int iii_ssh_key_delete(iii_client *client, const char *key_id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/ssh/keys/{keyId}", key_id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_ssh_info(iii_client *client, struct iii_ssh_info **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/ssh", NULL);
    return iii_call_run(&c, &iii_type_ssh_info, (void **)ret, err);
}

int iii_event_history(iii_client *client, const struct iii_event_history_options *options, struct iii_event_page **ret,
                      struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/events/history", NULL);
    iii_call_options(&c, &iii_type_event_history_options, options);
    return iii_call_run(&c, &iii_type_event_page, (void **)ret, err);
}

int iii_event_publish(iii_client *client, const char *topic, const char *sandbox_id,
                      const struct iii_event_publish_options *options, struct iii_sandbox_event **ret,
                      struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/events/publish", NULL);
    iii_call_text(&c, "topic", IN_BODY, topic);
    iii_call_text(&c, "sandboxId", IN_BODY, sandbox_id);
    iii_call_options(&c, &iii_type_event_publish_options, options);
    return iii_call_run(&c, &iii_type_sandbox_event, (void **)ret, err);
}

int iii_observability_traces(iii_client *client, const struct iii_observability_traces_options *options,
                             struct iii_trace_page **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/observability/traces", NULL);
    iii_call_options(&c, &iii_type_observability_traces_options, options);
    return iii_call_run(&c, &iii_type_trace_page, (void **)ret, err);
}

int iii_observability_metrics(iii_client *client, struct iii_observability_metrics **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/observability/metrics", NULL);
    return iii_call_run(&c, &iii_type_observability_metrics, (void **)ret, err);
}

int iii_observability_clear(iii_client *client, const struct iii_observability_clear_options *options,
                            struct iii_cleared **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/observability/clear", NULL);
    iii_call_options(&c, &iii_type_observability_clear_options, options);
    return iii_call_run(&c, &iii_type_cleared, (void **)ret, err);
}

int iii_stream_logs(const iii_sandbox *sandbox, const struct iii_stream_logs_options *options,
                    iii_log_event_fn *on_event, void *arg, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/stream/logs", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_stream_logs_options, options);
    return iii_call_stream(&c, &iii_type_log_event, (iii_event_fn *)on_event, arg, err);
}

int iii_stream_metrics(const iii_sandbox *sandbox, const struct iii_stream_metrics_options *options,
                       iii_sandbox_metrics_fn *on_event, void *arg, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/stream/metrics", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_stream_metrics_options, options);
    return iii_call_stream(&c, &iii_type_sandbox_metrics, (iii_event_fn *)on_event, arg, err);
}

int iii_stream_events(iii_client *client, const struct iii_stream_events_options *options,
                      iii_sandbox_event_fn *on_event, void *arg, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/stream/events", NULL);
    iii_call_options(&c, &iii_type_stream_events_options, options);
    return iii_call_stream(&c, &iii_type_sandbox_event, (iii_event_fn *)on_event, arg, err);
}

int iii_alert_set(const iii_sandbox *sandbox, const char *metric, double threshold,
                  const struct iii_alert_set_options *options, struct iii_resource_alert **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/alerts", iii_sandbox_id(sandbox), NULL);
    iii_call_text(&c, "metric", IN_BODY, metric);
    iii_call_number(&c, "threshold", IN_BODY, threshold);
    iii_call_options(&c, &iii_type_alert_set_options, options);
    return iii_call_run(&c, &iii_type_resource_alert, (void **)ret, err);
}

int iii_alert_list(const iii_sandbox *sandbox, struct iii_alert_list **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/alerts", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_alert_list, (void **)ret, err);
}

int iii_alert_delete(iii_client *client, const char *alert_id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/alerts/{alertId}", alert_id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_alert_history(const iii_sandbox *sandbox, const struct iii_alert_history_options *options,
                      struct iii_alert_event_page **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/alerts/history", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_alert_history_options, options);
    return iii_call_run(&c, &iii_type_alert_event_page, (void **)ret, err);
}

int iii_webhook_create(iii_client *client, const char *url, const struct iii_webhook_create_options *options,
                       struct iii_webhook **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/webhooks", NULL);
    iii_call_text(&c, "url", IN_BODY, url);
    iii_call_options(&c, &iii_type_webhook_create_options, options);
    return iii_call_run(&c, &iii_type_webhook, (void **)ret, err);
}

int iii_webhook_list(iii_client *client, const struct iii_webhook_list_options *options, struct iii_webhook_list **ret,
                     struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/webhooks", NULL);
    iii_call_options(&c, &iii_type_webhook_list_options, options);
    return iii_call_run(&c, &iii_type_webhook_list, (void **)ret, err);
}

int iii_webhook_get(iii_client *client, const char *webhook_id, struct iii_webhook **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}", webhook_id, NULL);
    return iii_call_run(&c, &iii_type_webhook, (void **)ret, err);
}

int iii_webhook_update(iii_client *client, const char *webhook_id, const struct iii_webhook_update_options *options,
                       struct iii_webhook **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "PUT", 0);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}", webhook_id, NULL);
    iii_call_options(&c, &iii_type_webhook_update_options, options);
    return iii_call_run(&c, &iii_type_webhook, (void **)ret, err);
}

int iii_webhook_delete(iii_client *client, const char *webhook_id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}", webhook_id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_webhook_test(iii_client *client, const char *webhook_id, struct iii_webhook_test **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}/test", webhook_id, NULL);
    return iii_call_run(&c, &iii_type_webhook_test, (void **)ret, err);
}

int iii_webhook_rotate(iii_client *client, const char *webhook_id, const struct iii_webhook_rotate_options *options,
                       struct iii_webhook **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}/rotate", webhook_id, NULL);
    iii_call_options(&c, &iii_type_webhook_rotate_options, options);
    return iii_call_run(&c, &iii_type_webhook, (void **)ret, err);
}

int iii_webhook_deliveries(iii_client *client, const char *webhook_id,
                           const struct iii_webhook_deliveries_options *options, struct iii_webhook_delivery_page **ret,
                           struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}/deliveries", webhook_id, NULL);
    iii_call_options(&c, &iii_type_webhook_deliveries_options, options);
    return iii_call_run(&c, &iii_type_webhook_delivery_page, (void **)ret, err);
}

int iii_webhook_purge(iii_client *client, const char *webhook_id, const struct iii_webhook_purge_options *options,
                      struct iii_webhook_purged **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}/deliveries", webhook_id, NULL);
    iii_call_options(&c, &iii_type_webhook_purge_options, options);
    return iii_call_run(&c, &iii_type_webhook_purged, (void **)ret, err);
}

int iii_webhook_retry(iii_client *client, const char *webhook_id, const struct iii_webhook_retry_options *options,
                      struct iii_webhook_retried **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/webhooks/{webhookId}/retry", webhook_id, NULL);
    iii_call_options(&c, &iii_type_webhook_retry_options, options);
    return iii_call_run(&c, &iii_type_webhook_retried, (void **)ret, err);
}

int iii_egress_get(const iii_sandbox *sandbox, struct iii_egress_policy **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/egress", iii_sandbox_id(sandbox), NULL);
    return iii_call_run(&c, &iii_type_egress_policy, (void **)ret, err);
}

int iii_egress_set(const iii_sandbox *sandbox, const struct iii_egress_set_options *options,
                   struct iii_egress_policy **ret, struct iii_error *err)
{
    struct call c = iii_call(iii_sandbox_client(sandbox), "POST", 0);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/egress", iii_sandbox_id(sandbox), NULL);
    iii_call_options(&c, &iii_type_egress_set_options, options);
    return iii_call_run(&c, &iii_type_egress_policy, (void **)ret, err);
}

int iii_network_create(iii_client *client, const char *name, const struct iii_network_create_options *options,
                       struct iii_sandbox_network **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/networks", NULL);
    iii_call_text(&c, "name", IN_BODY, name);
    iii_call_options(&c, &iii_type_network_create_options, options);
    return iii_call_run(&c, &iii_type_sandbox_network, (void **)ret, err);
}

int iii_network_list(iii_client *client, struct iii_network_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/networks", NULL);
    return iii_call_run(&c, &iii_type_network_list, (void **)ret, err);
}

int iii_network_connect(iii_client *client, const char *network_id, const char *sandbox_id,
                        struct iii_network_connected **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/networks/{networkId}/connect", network_id, NULL);
    iii_call_text(&c, "sandboxId", IN_BODY, sandbox_id);
    return iii_call_run(&c, &iii_type_network_connected, (void **)ret, err);
}

int iii_network_disconnect(iii_client *client, const char *network_id, const char *sandbox_id,
                           struct iii_network_disconnected **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/networks/{networkId}/disconnect", network_id, NULL);
    iii_call_text(&c, "sandboxId", IN_BODY, sandbox_id);
    return iii_call_run(&c, &iii_type_network_disconnected, (void **)ret, err);
}

int iii_network_delete(iii_client *client, const char *network_id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/networks/{networkId}", network_id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_volume_create(iii_client *client, const char *name, const struct iii_volume_create_options *options,
                      struct iii_sandbox_volume **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/volumes", NULL);
    iii_call_text(&c, "name", IN_BODY, name);
    iii_call_options(&c, &iii_type_volume_create_options, options);
    return iii_call_run(&c, &iii_type_sandbox_volume, (void **)ret, err);
}

int iii_volume_list(iii_client *client, struct iii_volume_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/volumes", NULL);
    return iii_call_run(&c, &iii_type_volume_list, (void **)ret, err);
}

int iii_volume_delete(iii_client *client, const char *volume_id, struct iii_deleted **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "DELETE", 0);
    iii_call_path(&c, "/sandbox/volumes/{volumeId}", volume_id, NULL);
    return iii_call_run(&c, &iii_type_deleted, (void **)ret, err);
}

int iii_volume_attach(iii_client *client, const char *volume_id, const char *sandbox_id, const char *mount_path,
                      const struct iii_volume_attach_options *options, struct iii_volume_attached **ret,
                      struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/volumes/{volumeId}/attach", volume_id, NULL);
    iii_call_text(&c, "sandboxId", IN_BODY, sandbox_id);
    iii_call_text(&c, "mountPath", IN_BODY, mount_path);
    iii_call_options(&c, &iii_type_volume_attach_options, options);
    return iii_call_run(&c, &iii_type_volume_attached, (void **)ret, err);
}

int iii_volume_detach(iii_client *client, const char *volume_id, struct iii_volume_detached **ret,
                      struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/volumes/{volumeId}/detach", volume_id, NULL);
    return iii_call_run(&c, &iii_type_volume_detached, (void **)ret, err);
}

int iii_worker_list(iii_client *client, struct iii_worker_list **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/admin/workers", NULL);
    return iii_call_run(&c, &iii_type_worker_list, (void **)ret, err);
}

int iii_worker_select(iii_client *client, struct iii_worker_selected **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/admin/workers/select", NULL);
    return iii_call_run(&c, &iii_type_worker_selected, (void **)ret, err);
}

int iii_worker_reap(iii_client *client, struct iii_workers_reaped **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/admin/workers/reap", NULL);
    return iii_call_run(&c, &iii_type_workers_reaped, (void **)ret, err);
}

int iii_worker_migrate(iii_client *client, struct iii_workers_migrated **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/admin/workers/migrate", NULL);
    return iii_call_run(&c, &iii_type_workers_migrated, (void **)ret, err);
}

int iii_worker_heartbeat(iii_client *client, struct iii_worker_info **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", 0);
    iii_call_path(&c, "/sandbox/admin/workers/heartbeat", NULL);
    return iii_call_run(&c, &iii_type_worker_info, (void **)ret, err);
}

int iii_audit_list(iii_client *client, const struct iii_audit_list_options *options, struct iii_audit_page **ret,
                   struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/admin/audit", NULL);
    iii_call_options(&c, &iii_type_audit_list_options, options);
    return iii_call_run(&c, &iii_type_audit_page, (void **)ret, err);
}

int iii_audit_verify(iii_client *client, struct iii_audit_verdict **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "GET", CALL_SAFE);
    iii_call_path(&c, "/sandbox/admin/audit/verify", NULL);
    return iii_call_run(&c, &iii_type_audit_verdict, (void **)ret, err);
}

int iii_function_call(iii_client *client, const char *function_id, const struct iii_function_call_options *options,
                      struct iii_function_result **ret, struct iii_error *err)
{
    struct call c = iii_call(client, "POST", CALL_LONG);
    iii_call_path(&c, "/sandbox/admin/functions/call", NULL);
    iii_call_text(&c, "functionId", IN_BODY, function_id);
    iii_call_options(&c, &iii_type_function_call_options, options);
    return iii_call_run(&c, &iii_type_function_result, (void **)ret, err);
}
