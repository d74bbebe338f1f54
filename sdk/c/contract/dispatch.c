/* Generated from docs/openapi.json by tools/sdkgen; do not edit. */
#include "args.h"

static int do_sandbox_create(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_create_options options = {0};
    args_options(a, &iii_type_sandbox_create_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_sandbox_create(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_list(struct args *a)
{
    struct iii_sandbox_page *ret = NULL;
    struct iii_sandbox_list_options options = {0};
    args_options(a, &iii_type_sandbox_list_options, &options);
    int e = iii_sandbox_list(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_page, ret);
    return e;
}

static int do_sandbox_get(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_sandbox_get(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_kill(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_sandbox_kill(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_sandbox_pause(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_sandbox_pause(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_resume(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_sandbox_resume(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_stop(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_stop_options options = {0};
    args_options(a, &iii_type_sandbox_stop_options, &options);
    int e = iii_sandbox_stop(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_start(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_sandbox_start(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_restart(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_restart_options options = {0};
    args_options(a, &iii_type_sandbox_restart_options, &options);
    int e = iii_sandbox_restart(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_hibernate(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_sandbox_hibernate(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_policy(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_policy_options options = {0};
    args_options(a, &iii_type_sandbox_policy_options, &options);
    int e = iii_sandbox_policy(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_renew(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_sandbox_renew(a->sandbox, args_integer(a, "expiresAt"), &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_resize(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_resize_options options = {0};
    args_options(a, &iii_type_sandbox_resize_options, &options);
    int e = iii_sandbox_resize(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_label(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_label_options options = {0};
    args_options(a, &iii_type_sandbox_label_options, &options);
    int e = iii_sandbox_label(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_clone(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_sandbox_clone_options options = {0};
    args_options(a, &iii_type_sandbox_clone_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_sandbox_clone(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_sandbox_fork(struct args *a)
{
    struct iii_sandbox_fork *ret = NULL;
    struct iii_sandbox_fork_options options = {0};
    args_options(a, &iii_type_sandbox_fork_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_sandbox_fork(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_fork, ret);
    return e;
}

static int do_cmd_run(struct args *a)
{
    struct iii_exec_result *ret = NULL;
    struct iii_cmd_run_options options = {0};
    args_options(a, &iii_type_cmd_run_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_cmd_run(a->sandbox, args_command(a, "command"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_result, ret);
    return e;
}

static int do_cmd_run_stream(struct args *a)
{
    a->event_type = &iii_type_exec_stream_chunk;
    struct iii_cmd_run_stream_options options = {0};
    args_options(a, &iii_type_cmd_run_stream_options, &options);
    int e = iii_cmd_run_stream(a->sandbox, args_command(a, "command"), &options, (iii_exec_stream_chunk_fn *)args_event,
        a, a->err);
    return e;
}

static int do_cmd_background(struct args *a)
{
    struct iii_background_exec *ret = NULL;
    struct iii_cmd_background_options options = {0};
    args_options(a, &iii_type_cmd_background_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_cmd_background(a->sandbox, args_command(a, "command"), &options, &ret, a->err);
    args_reply(a, &iii_type_background_exec, ret);
    return e;
}

static int do_cmd_background_status(struct args *a)
{
    struct iii_background_exec *ret = NULL;
    int e = iii_cmd_background_status(a->client, args_text(a, "id"), &ret, a->err);
    args_reply(a, &iii_type_background_exec, ret);
    return e;
}

static int do_cmd_background_logs(struct args *a)
{
    struct iii_background_logs *ret = NULL;
    struct iii_cmd_background_logs_options options = {0};
    args_options(a, &iii_type_cmd_background_logs_options, &options);
    int e = iii_cmd_background_logs(a->client, args_text(a, "id"), &options, &ret, a->err);
    args_reply(a, &iii_type_background_logs, ret);
    return e;
}

static int do_cmd_interrupt(struct args *a)
{
    struct iii_success *ret = NULL;
    struct iii_cmd_interrupt_options options = {0};
    args_options(a, &iii_type_cmd_interrupt_options, &options);
    int e = iii_cmd_interrupt(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_exec_start(struct args *a)
{
    struct iii_durable_exec *ret = NULL;
    struct iii_exec_start_options options = {0};
    args_options(a, &iii_type_exec_start_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_exec_start(a->sandbox, args_command(a, "command"), &options, &ret, a->err);
    args_reply(a, &iii_type_durable_exec, ret);
    return e;
}

static int do_exec_list(struct args *a)
{
    struct iii_durable_exec_list *ret = NULL;
    int e = iii_exec_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_durable_exec_list, ret);
    return e;
}

static int do_exec_get(struct args *a)
{
    struct iii_durable_exec *ret = NULL;
    int e = iii_exec_get(a->client, args_text(a, "execId"), &ret, a->err);
    args_reply(a, &iii_type_durable_exec, ret);
    return e;
}

static int do_exec_output(struct args *a)
{
    struct iii_exec_output *ret = NULL;
    struct iii_exec_output_options options = {0};
    args_options(a, &iii_type_exec_output_options, &options);
    int e = iii_exec_output(a->client, args_text(a, "execId"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_output, ret);
    return e;
}

static int do_exec_output_events(struct args *a)
{
    a->event_type = &iii_type_exec_output_event;
    struct iii_exec_output_options options = {0};
    args_options(a, &iii_type_exec_output_options, &options);
    int e = iii_exec_output_events(a->client, args_text(a, "execId"), &options, (iii_exec_output_event_fn *)args_event,
        a, a->err);
    return e;
}

static int do_exec_input(struct args *a)
{
    struct iii_exec_written *ret = NULL;
    struct iii_exec_input_options options = {0};
    args_options(a, &iii_type_exec_input_options, &options);
    int e = iii_exec_input(a->client, args_text(a, "execId"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_written, ret);
    return e;
}

static int do_exec_signal(struct args *a)
{
    struct iii_exec_signalled *ret = NULL;
    struct iii_exec_signal_options options = {0};
    args_options(a, &iii_type_exec_signal_options, &options);
    int e = iii_exec_signal(a->client, args_text(a, "execId"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_signalled, ret);
    return e;
}

static int do_queue_submit(struct args *a)
{
    struct iii_queue_job_info *ret = NULL;
    struct iii_queue_submit_options options = {0};
    args_options(a, &iii_type_queue_submit_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_queue_submit(a->sandbox, args_command(a, "command"), &options, &ret, a->err);
    args_reply(a, &iii_type_queue_job_info, ret);
    return e;
}

static int do_queue_list(struct args *a)
{
    struct iii_queue_job_page *ret = NULL;
    struct iii_queue_list_options options = {0};
    args_options(a, &iii_type_queue_list_options, &options);
    int e = iii_queue_list(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_queue_job_page, ret);
    return e;
}

static int do_queue_status(struct args *a)
{
    struct iii_queue_job_info *ret = NULL;
    int e = iii_queue_status(a->client, args_text(a, "jobId"), &ret, a->err);
    args_reply(a, &iii_type_queue_job_info, ret);
    return e;
}

static int do_queue_cancel(struct args *a)
{
    struct iii_queue_cancelled *ret = NULL;
    int e = iii_queue_cancel(a->client, args_text(a, "jobId"), &ret, a->err);
    args_reply(a, &iii_type_queue_cancelled, ret);
    return e;
}

static int do_queue_retry(struct args *a)
{
    struct iii_queue_job_info *ret = NULL;
    int e = iii_queue_retry(a->client, args_text(a, "jobId"), &ret, a->err);
    args_reply(a, &iii_type_queue_job_info, ret);
    return e;
}

static int do_queue_dlq(struct args *a)
{
    struct iii_queue_job_page *ret = NULL;
    struct iii_queue_dlq_options options = {0};
    args_options(a, &iii_type_queue_dlq_options, &options);
    int e = iii_queue_dlq(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_queue_job_page, ret);
    return e;
}

static int do_fs_read(struct args *a)
{
    struct iii_text *ret = NULL;
    int e = iii_fs_read(a->sandbox, args_text(a, "path"), &ret, a->err);
    args_reply(a, &iii_type_text, ret);
    return e;
}

static int do_fs_write(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_fs_write(a->sandbox, args_text(a, "path"), args_text(a, "content"), &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_delete(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_fs_delete(a->sandbox, args_text(a, "path"), &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_list(struct args *a)
{
    struct iii_file_info_list *ret = NULL;
    struct iii_fs_list_options options = {0};
    args_options(a, &iii_type_fs_list_options, &options);
    int e = iii_fs_list(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_file_info_list, ret);
    return e;
}

static int do_fs_search(struct args *a)
{
    struct iii_path_list *ret = NULL;
    struct iii_fs_search_options options = {0};
    args_options(a, &iii_type_fs_search_options, &options);
    int e = iii_fs_search(a->sandbox, args_text(a, "pattern"), &options, &ret, a->err);
    args_reply(a, &iii_type_path_list, ret);
    return e;
}

static int do_fs_upload(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_fs_upload(a->sandbox, args_text(a, "path"), args_text(a, "content"), &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_download(struct args *a)
{
    struct iii_base64 *ret = NULL;
    int e = iii_fs_download(a->sandbox, args_text(a, "path"), &ret, a->err);
    args_reply(a, &iii_type_base64, ret);
    return e;
}

static int do_fs_info(struct args *a)
{
    struct iii_file_info_reply *ret = NULL;
    struct iii_fs_info_options options = {0};
    args_options(a, &iii_type_fs_info_options, &options);
    int e = iii_fs_info(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_file_info_reply, ret);
    return e;
}

static int do_fs_move(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_fs_move(a->sandbox, args_objects(a, "moves", &iii_type_fs_move_move), args_count(a, "moves"), &ret,
        a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_mkdir(struct args *a)
{
    struct iii_success *ret = NULL;
    struct iii_fs_mkdir_options options = {0};
    args_options(a, &iii_type_fs_mkdir_options, &options);
    int e = iii_fs_mkdir(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_rmdir(struct args *a)
{
    struct iii_success *ret = NULL;
    struct iii_fs_rmdir_options options = {0};
    args_options(a, &iii_type_fs_rmdir_options, &options);
    int e = iii_fs_rmdir(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_chmod(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_fs_chmod(a->sandbox, args_text(a, "path"), args_text(a, "mode"), &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_fs_watch(struct args *a)
{
    a->event_type = &iii_type_file_event;
    struct iii_fs_watch_options options = {0};
    args_options(a, &iii_type_fs_watch_options, &options);
    int e = iii_fs_watch(a->sandbox, &options, (iii_file_event_fn *)args_event, a, a->err);
    return e;
}

static int do_fs_sign(struct args *a)
{
    struct iii_file_url *ret = NULL;
    struct iii_fs_sign_options options = {0};
    args_options(a, &iii_type_fs_sign_options, &options);
    int e = iii_fs_sign(a->sandbox, args_text(a, "path"), &options, &ret, a->err);
    args_reply(a, &iii_type_file_url, ret);
    return e;
}

static int do_link_rotate(struct args *a)
{
    struct iii_success *ret = NULL;
    int e = iii_link_rotate(a->client, &ret, a->err);
    args_reply(a, &iii_type_success, ret);
    return e;
}

static int do_env_get(struct args *a)
{
    struct iii_env_value *ret = NULL;
    int e = iii_env_get(a->sandbox, args_text(a, "key"), &ret, a->err);
    args_reply(a, &iii_type_env_value, ret);
    return e;
}

static int do_env_set(struct args *a)
{
    struct iii_env_set *ret = NULL;
    int e = iii_env_set(a->sandbox, args_pairs(a, "vars"), args_count(a, "vars"), &ret, a->err);
    args_reply(a, &iii_type_env_set, ret);
    return e;
}

static int do_env_list(struct args *a)
{
    struct iii_env_list *ret = NULL;
    int e = iii_env_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_env_list, ret);
    return e;
}

static int do_env_delete(struct args *a)
{
    struct iii_env_deleted *ret = NULL;
    int e = iii_env_delete(a->sandbox, args_text(a, "key"), &ret, a->err);
    args_reply(a, &iii_type_env_deleted, ret);
    return e;
}

static int do_proc_list(struct args *a)
{
    struct iii_process_list *ret = NULL;
    int e = iii_proc_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_process_list, ret);
    return e;
}

static int do_proc_top(struct args *a)
{
    struct iii_process_top *ret = NULL;
    int e = iii_proc_top(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_process_top, ret);
    return e;
}

static int do_proc_kill(struct args *a)
{
    struct iii_process_killed *ret = NULL;
    struct iii_proc_kill_options options = {0};
    args_options(a, &iii_type_proc_kill_options, &options);
    int e = iii_proc_kill(a->sandbox, args_integer(a, "pid"), &options, &ret, a->err);
    args_reply(a, &iii_type_process_killed, ret);
    return e;
}

static int do_service_list(struct args *a)
{
    struct iii_service_list *ret = NULL;
    struct iii_service_list_options options = {0};
    args_options(a, &iii_type_service_list_options, &options);
    int e = iii_service_list(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_service_list, ret);
    return e;
}

static int do_service_start(struct args *a)
{
    struct iii_service *ret = NULL;
    int e = iii_service_start(a->sandbox, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_service, ret);
    return e;
}

static int do_service_stop(struct args *a)
{
    struct iii_service *ret = NULL;
    int e = iii_service_stop(a->sandbox, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_service, ret);
    return e;
}

static int do_service_restart(struct args *a)
{
    struct iii_service *ret = NULL;
    int e = iii_service_restart(a->sandbox, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_service, ret);
    return e;
}

static int do_service_logs(struct args *a)
{
    struct iii_service_output *ret = NULL;
    struct iii_service_logs_options options = {0};
    args_options(a, &iii_type_service_logs_options, &options);
    int e = iii_service_logs(a->sandbox, args_text(a, "name"), &options, &ret, a->err);
    args_reply(a, &iii_type_service_output, ret);
    return e;
}

static int do_service_logs_events(struct args *a)
{
    a->event_type = &iii_type_service_output_event;
    struct iii_service_logs_options options = {0};
    args_options(a, &iii_type_service_logs_options, &options);
    int e = iii_service_logs_events(a->sandbox, args_text(a, "name"), &options,
        (iii_service_output_event_fn *)args_event, a, a->err);
    return e;
}

static int do_git_clone(struct args *a)
{
    struct iii_exec_result *ret = NULL;
    struct iii_git_clone_options options = {0};
    args_options(a, &iii_type_git_clone_options, &options);
    int e = iii_git_clone(a->sandbox, args_text(a, "url"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_result, ret);
    return e;
}

static int do_git_status(struct args *a)
{
    struct iii_git_status *ret = NULL;
    struct iii_git_status_options options = {0};
    args_options(a, &iii_type_git_status_options, &options);
    int e = iii_git_status(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_git_status, ret);
    return e;
}

static int do_git_commit(struct args *a)
{
    struct iii_exec_result *ret = NULL;
    struct iii_git_commit_options options = {0};
    args_options(a, &iii_type_git_commit_options, &options);
    int e = iii_git_commit(a->sandbox, args_text(a, "message"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_result, ret);
    return e;
}

static int do_git_diff(struct args *a)
{
    struct iii_git_diff *ret = NULL;
    struct iii_git_diff_options options = {0};
    args_options(a, &iii_type_git_diff_options, &options);
    int e = iii_git_diff(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_git_diff, ret);
    return e;
}

static int do_git_log(struct args *a)
{
    struct iii_git_log *ret = NULL;
    struct iii_git_log_options options = {0};
    args_options(a, &iii_type_git_log_options, &options);
    int e = iii_git_log(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_git_log, ret);
    return e;
}

static int do_git_branch(struct args *a)
{
    struct iii_git_branches *ret = NULL;
    struct iii_git_branch_options options = {0};
    args_options(a, &iii_type_git_branch_options, &options);
    int e = iii_git_branch(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_git_branches, ret);
    return e;
}

static int do_git_checkout(struct args *a)
{
    struct iii_exec_result *ret = NULL;
    struct iii_git_checkout_options options = {0};
    args_options(a, &iii_type_git_checkout_options, &options);
    int e = iii_git_checkout(a->sandbox, args_text(a, "ref"), &options, &ret, a->err);
    args_reply(a, &iii_type_exec_result, ret);
    return e;
}

static int do_git_push(struct args *a)
{
    struct iii_exec_result *ret = NULL;
    struct iii_git_push_options options = {0};
    args_options(a, &iii_type_git_push_options, &options);
    int e = iii_git_push(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_exec_result, ret);
    return e;
}

static int do_git_pull(struct args *a)
{
    struct iii_exec_result *ret = NULL;
    struct iii_git_pull_options options = {0};
    args_options(a, &iii_type_git_pull_options, &options);
    int e = iii_git_pull(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_exec_result, ret);
    return e;
}

static int do_template_create(struct args *a)
{
    struct iii_sandbox_template *ret = NULL;
    struct iii_template_create_options options = {0};
    args_options(a, &iii_type_template_create_options, &options);
    int e = iii_template_create(a->client, args_text(a, "name"), args_object(a, "config",
        &iii_type_template_create_config), &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_template, ret);
    return e;
}

static int do_template_list(struct args *a)
{
    struct iii_template_list *ret = NULL;
    int e = iii_template_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_template_list, ret);
    return e;
}

static int do_template_get(struct args *a)
{
    struct iii_sandbox_template *ret = NULL;
    int e = iii_template_get(a->client, args_text(a, "id"), &ret, a->err);
    args_reply(a, &iii_type_sandbox_template, ret);
    return e;
}

static int do_template_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_template_delete(a->client, args_text(a, "id"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_image_list(struct args *a)
{
    struct iii_image_list *ret = NULL;
    int e = iii_image_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_image_list, ret);
    return e;
}

static int do_image_delete_query(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_image_delete_query(a->client, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_image_pull(struct args *a)
{
    struct iii_image *ret = NULL;
    int e = iii_image_pull(a->client, args_text(a, "image"), &ret, a->err);
    args_reply(a, &iii_type_image, ret);
    return e;
}

static int do_image_pull_events(struct args *a)
{
    a->event_type = &iii_type_image_event;
    int e = iii_image_pull_events(a->client, args_text(a, "image"), (iii_image_event_fn *)args_event, a, a->err);
    return e;
}

static int do_image_verify(struct args *a)
{
    struct iii_image_verification *ret = NULL;
    int e = iii_image_verify(a->client, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_image_verification, ret);
    return e;
}

static int do_image_inspect(struct args *a)
{
    struct iii_image_details *ret = NULL;
    int e = iii_image_inspect(a->client, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_image_details, ret);
    return e;
}

static int do_image_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_image_delete(a->client, args_text(a, "name"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_snapshot_create(struct args *a)
{
    struct iii_snapshot_info *ret = NULL;
    struct iii_snapshot_create_options options = {0};
    args_options(a, &iii_type_snapshot_create_options, &options);
    int e = iii_snapshot_create(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_snapshot_info, ret);
    return e;
}

static int do_snapshot_list(struct args *a)
{
    struct iii_snapshot_list *ret = NULL;
    int e = iii_snapshot_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_snapshot_list, ret);
    return e;
}

static int do_snapshot_restore(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    int e = iii_snapshot_restore(a->sandbox, args_text(a, "snapshotId"), &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_snapshot_clone(struct args *a)
{
    struct iii_sandbox_info *ret = NULL;
    struct iii_snapshot_clone_options options = {0};
    args_options(a, &iii_type_snapshot_clone_options, &options);
    int e = iii_snapshot_clone(a->client, args_text(a, "snapshotId"), &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_info, ret);
    return e;
}

static int do_snapshot_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_snapshot_delete(a->client, args_text(a, "snapshotId"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_snapshot_create_short(struct args *a)
{
    struct iii_snapshot_info *ret = NULL;
    struct iii_snapshot_create_short_options options = {0};
    args_options(a, &iii_type_snapshot_create_short_options, &options);
    int e = iii_snapshot_create_short(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_snapshot_info, ret);
    return e;
}

static int do_metrics_sandbox(struct args *a)
{
    struct iii_sandbox_metrics *ret = NULL;
    int e = iii_metrics_sandbox(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_sandbox_metrics, ret);
    return e;
}

static int do_metrics_global(struct args *a)
{
    struct iii_global_metrics *ret = NULL;
    int e = iii_metrics_global(a->client, &ret, a->err);
    args_reply(a, &iii_type_global_metrics, ret);
    return e;
}

static int do_health(struct args *a)
{
    struct iii_health *ret = NULL;
    int e = iii_health(a->client, &ret, a->err);
    args_reply(a, &iii_type_health, ret);
    return e;
}

static int do_pool_status(struct args *a)
{
    struct iii_pool_status *ret = NULL;
    int e = iii_pool_status(a->client, &ret, a->err);
    args_reply(a, &iii_type_pool_status, ret);
    return e;
}

static int do_ttl_sweep(struct args *a)
{
    struct iii_swept *ret = NULL;
    int e = iii_ttl_sweep(a->client, &ret, a->err);
    args_reply(a, &iii_type_swept, ret);
    return e;
}

static int do_openapi(struct args *a)
{
    struct iii_open_api *ret = NULL;
    int e = iii_openapi(a->client, &ret, a->err);
    args_reply(a, &iii_type_open_api, ret);
    return e;
}

static int do_interp_execute(struct args *a)
{
    struct iii_code_result *ret = NULL;
    struct iii_interp_execute_options options = {0};
    args_options(a, &iii_type_interp_execute_options, &options);
    int e = iii_interp_execute(a->sandbox, args_text(a, "code"), &options, &ret, a->err);
    args_reply(a, &iii_type_code_result, ret);
    return e;
}

static int do_interp_install(struct args *a)
{
    struct iii_install_result *ret = NULL;
    struct iii_interp_install_options options = {0};
    args_options(a, &iii_type_interp_install_options, &options);
    int e = iii_interp_install(a->sandbox, args_texts(a, "packages"), args_count(a, "packages"), &options, &ret,
        a->err);
    args_reply(a, &iii_type_install_result, ret);
    return e;
}

static int do_interp_kernels(struct args *a)
{
    struct iii_kernel_list *ret = NULL;
    int e = iii_interp_kernels(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_kernel_list, ret);
    return e;
}

static int do_context_create(struct args *a)
{
    struct iii_context *ret = NULL;
    struct iii_context_create_options options = {0};
    args_options(a, &iii_type_context_create_options, &options);
    int e = iii_context_create(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_context, ret);
    return e;
}

static int do_context_list(struct args *a)
{
    struct iii_context_list *ret = NULL;
    int e = iii_context_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_context_list, ret);
    return e;
}

static int do_context_get(struct args *a)
{
    struct iii_context *ret = NULL;
    int e = iii_context_get(a->sandbox, args_text(a, "contextId"), &ret, a->err);
    args_reply(a, &iii_type_context, ret);
    return e;
}

static int do_context_delete(struct args *a)
{
    struct iii_context_deleted *ret = NULL;
    int e = iii_context_delete(a->sandbox, args_text(a, "contextId"), &ret, a->err);
    args_reply(a, &iii_type_context_deleted, ret);
    return e;
}

static int do_context_execute(struct args *a)
{
    struct iii_context_result *ret = NULL;
    struct iii_context_execute_options options = {0};
    args_options(a, &iii_type_context_execute_options, &options);
    int e = iii_context_execute(a->sandbox, args_text(a, "contextId"), args_text(a, "code"), &options, &ret, a->err);
    args_reply(a, &iii_type_context_result, ret);
    return e;
}

static int do_context_execute_stream(struct args *a)
{
    a->event_type = &iii_type_context_event;
    struct iii_context_execute_stream_options options = {0};
    args_options(a, &iii_type_context_execute_stream_options, &options);
    int e = iii_context_execute_stream(a->sandbox, args_text(a, "contextId"), args_text(a, "code"), &options,
        (iii_context_event_fn *)args_event, a, a->err);
    return e;
}

static int do_context_interrupt(struct args *a)
{
    struct iii_context_interrupted *ret = NULL;
    int e = iii_context_interrupt(a->sandbox, args_text(a, "contextId"), &ret, a->err);
    args_reply(a, &iii_type_context_interrupted, ret);
    return e;
}

static int do_context_restart(struct args *a)
{
    struct iii_context *ret = NULL;
    int e = iii_context_restart(a->sandbox, args_text(a, "contextId"), &ret, a->err);
    args_reply(a, &iii_type_context, ret);
    return e;
}

static int do_port_expose(struct args *a)
{
    struct iii_port_mapping *ret = NULL;
    struct iii_port_expose_options options = {0};
    args_options(a, &iii_type_port_expose_options, &options);
    int e = iii_port_expose(a->sandbox, args_integer(a, "containerPort"), &options, &ret, a->err);
    args_reply(a, &iii_type_port_mapping, ret);
    return e;
}

static int do_port_list(struct args *a)
{
    struct iii_port_list *ret = NULL;
    int e = iii_port_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_port_list, ret);
    return e;
}

static int do_port_unexpose(struct args *a)
{
    struct iii_port_removed *ret = NULL;
    int e = iii_port_unexpose(a->sandbox, args_integer(a, "containerPort"), &ret, a->err);
    args_reply(a, &iii_type_port_removed, ret);
    return e;
}

static int do_preview_open(struct args *a)
{
    struct iii_preview *ret = NULL;
    struct iii_preview_open_options options = {0};
    args_options(a, &iii_type_preview_open_options, &options);
    int e = iii_preview_open(a->sandbox, args_integer(a, "port"), &options, &ret, a->err);
    args_reply(a, &iii_type_preview, ret);
    return e;
}

static int do_proxy_request(struct args *a)
{
    struct iii_proxy_reply *ret = NULL;
    struct iii_proxy_request_options options = {0};
    args_options(a, &iii_type_proxy_request_options, &options);
    int e = iii_proxy_request(a->sandbox, args_integer(a, "port"), &options, &ret, a->err);
    args_reply(a, &iii_type_proxy_reply, ret);
    return e;
}

static int do_proxy_config(struct args *a)
{
    struct iii_proxy_config *ret = NULL;
    struct iii_proxy_config_options options = {0};
    args_options(a, &iii_type_proxy_config_options, &options);
    int e = iii_proxy_config(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_proxy_config, ret);
    return e;
}

static int do_terminal_create(struct args *a)
{
    struct iii_terminal_session *ret = NULL;
    struct iii_terminal_create_options options = {0};
    args_options(a, &iii_type_terminal_create_options, &options);
    int e = iii_terminal_create(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_terminal_session, ret);
    return e;
}

static int do_terminal_resize(struct args *a)
{
    struct iii_terminal_size *ret = NULL;
    int e = iii_terminal_resize(a->sandbox, args_text(a, "sessionId"), args_integer(a, "cols"), args_integer(a, "rows"),
        &ret, a->err);
    args_reply(a, &iii_type_terminal_size, ret);
    return e;
}

static int do_terminal_close(struct args *a)
{
    struct iii_terminal_closed *ret = NULL;
    int e = iii_terminal_close(a->sandbox, args_text(a, "sessionId"), &ret, a->err);
    args_reply(a, &iii_type_terminal_closed, ret);
    return e;
}

static int do_token_create(struct args *a)
{
    struct iii_token *ret = NULL;
    struct iii_token_create_options options = {0};
    args_options(a, &iii_type_token_create_options, &options);
    int e = iii_token_create(a->client, args_text(a, "name"), &options, &ret, a->err);
    args_reply(a, &iii_type_token, ret);
    return e;
}

static int do_token_list(struct args *a)
{
    struct iii_token_list *ret = NULL;
    int e = iii_token_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_token_list, ret);
    return e;
}

static int do_token_get(struct args *a)
{
    struct iii_token *ret = NULL;
    int e = iii_token_get(a->client, args_text(a, "tokenId"), &ret, a->err);
    args_reply(a, &iii_type_token, ret);
    return e;
}

static int do_token_revoke(struct args *a)
{
    struct iii_token *ret = NULL;
    int e = iii_token_revoke(a->client, args_text(a, "tokenId"), &ret, a->err);
    args_reply(a, &iii_type_token, ret);
    return e;
}

static int do_token_rotate(struct args *a)
{
    struct iii_token *ret = NULL;
    int e = iii_token_rotate(a->client, args_text(a, "tokenId"), &ret, a->err);
    args_reply(a, &iii_type_token, ret);
    return e;
}

static int do_ssh_key_add(struct args *a)
{
    struct iii_ssh_key *ret = NULL;
    struct iii_ssh_key_add_options options = {0};
    args_options(a, &iii_type_ssh_key_add_options, &options);
    int e = iii_ssh_key_add(a->client, args_text(a, "publicKey"), &options, &ret, a->err);
    args_reply(a, &iii_type_ssh_key, ret);
    return e;
}

static int do_ssh_key_list(struct args *a)
{
    struct iii_ssh_key_list *ret = NULL;
    int e = iii_ssh_key_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_ssh_key_list, ret);
    return e;
}

static int do_ssh_key_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_ssh_key_delete(a->client, args_text(a, "keyId"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_ssh_info(struct args *a)
{
    struct iii_ssh_info *ret = NULL;
    int e = iii_ssh_info(a->client, &ret, a->err);
    args_reply(a, &iii_type_ssh_info, ret);
    return e;
}

static int do_event_history(struct args *a)
{
    struct iii_event_page *ret = NULL;
    struct iii_event_history_options options = {0};
    args_options(a, &iii_type_event_history_options, &options);
    int e = iii_event_history(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_event_page, ret);
    return e;
}

static int do_event_publish(struct args *a)
{
    struct iii_sandbox_event *ret = NULL;
    struct iii_event_publish_options options = {0};
    args_options(a, &iii_type_event_publish_options, &options);
    int e = iii_event_publish(a->client, args_text(a, "topic"), args_text(a, "sandboxId"), &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_event, ret);
    return e;
}

static int do_observability_traces(struct args *a)
{
    struct iii_trace_page *ret = NULL;
    struct iii_observability_traces_options options = {0};
    args_options(a, &iii_type_observability_traces_options, &options);
    int e = iii_observability_traces(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_trace_page, ret);
    return e;
}

static int do_observability_metrics(struct args *a)
{
    struct iii_observability_metrics *ret = NULL;
    int e = iii_observability_metrics(a->client, &ret, a->err);
    args_reply(a, &iii_type_observability_metrics, ret);
    return e;
}

static int do_observability_clear(struct args *a)
{
    struct iii_cleared *ret = NULL;
    struct iii_observability_clear_options options = {0};
    args_options(a, &iii_type_observability_clear_options, &options);
    int e = iii_observability_clear(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_cleared, ret);
    return e;
}

static int do_stream_logs(struct args *a)
{
    a->event_type = &iii_type_log_event;
    struct iii_stream_logs_options options = {0};
    args_options(a, &iii_type_stream_logs_options, &options);
    int e = iii_stream_logs(a->sandbox, &options, (iii_log_event_fn *)args_event, a, a->err);
    return e;
}

static int do_stream_metrics(struct args *a)
{
    a->event_type = &iii_type_sandbox_metrics;
    struct iii_stream_metrics_options options = {0};
    args_options(a, &iii_type_stream_metrics_options, &options);
    int e = iii_stream_metrics(a->sandbox, &options, (iii_sandbox_metrics_fn *)args_event, a, a->err);
    return e;
}

static int do_stream_events(struct args *a)
{
    a->event_type = &iii_type_sandbox_event;
    struct iii_stream_events_options options = {0};
    args_options(a, &iii_type_stream_events_options, &options);
    int e = iii_stream_events(a->client, &options, (iii_sandbox_event_fn *)args_event, a, a->err);
    return e;
}

static int do_alert_set(struct args *a)
{
    struct iii_resource_alert *ret = NULL;
    struct iii_alert_set_options options = {0};
    args_options(a, &iii_type_alert_set_options, &options);
    int e = iii_alert_set(a->sandbox, args_text(a, "metric"), args_number(a, "threshold"), &options, &ret, a->err);
    args_reply(a, &iii_type_resource_alert, ret);
    return e;
}

static int do_alert_list(struct args *a)
{
    struct iii_alert_list *ret = NULL;
    int e = iii_alert_list(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_alert_list, ret);
    return e;
}

static int do_alert_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_alert_delete(a->client, args_text(a, "alertId"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_alert_history(struct args *a)
{
    struct iii_alert_event_page *ret = NULL;
    struct iii_alert_history_options options = {0};
    args_options(a, &iii_type_alert_history_options, &options);
    int e = iii_alert_history(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_alert_event_page, ret);
    return e;
}

static int do_webhook_create(struct args *a)
{
    struct iii_webhook *ret = NULL;
    struct iii_webhook_create_options options = {0};
    args_options(a, &iii_type_webhook_create_options, &options);
    int e = iii_webhook_create(a->client, args_text(a, "url"), &options, &ret, a->err);
    args_reply(a, &iii_type_webhook, ret);
    return e;
}

static int do_webhook_list(struct args *a)
{
    struct iii_webhook_list *ret = NULL;
    struct iii_webhook_list_options options = {0};
    args_options(a, &iii_type_webhook_list_options, &options);
    int e = iii_webhook_list(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_webhook_list, ret);
    return e;
}

static int do_webhook_get(struct args *a)
{
    struct iii_webhook *ret = NULL;
    int e = iii_webhook_get(a->client, args_text(a, "webhookId"), &ret, a->err);
    args_reply(a, &iii_type_webhook, ret);
    return e;
}

static int do_webhook_update(struct args *a)
{
    struct iii_webhook *ret = NULL;
    struct iii_webhook_update_options options = {0};
    args_options(a, &iii_type_webhook_update_options, &options);
    int e = iii_webhook_update(a->client, args_text(a, "webhookId"), &options, &ret, a->err);
    args_reply(a, &iii_type_webhook, ret);
    return e;
}

static int do_webhook_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_webhook_delete(a->client, args_text(a, "webhookId"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_webhook_test(struct args *a)
{
    struct iii_webhook_test *ret = NULL;
    int e = iii_webhook_test(a->client, args_text(a, "webhookId"), &ret, a->err);
    args_reply(a, &iii_type_webhook_test, ret);
    return e;
}

static int do_webhook_rotate(struct args *a)
{
    struct iii_webhook *ret = NULL;
    struct iii_webhook_rotate_options options = {0};
    args_options(a, &iii_type_webhook_rotate_options, &options);
    int e = iii_webhook_rotate(a->client, args_text(a, "webhookId"), &options, &ret, a->err);
    args_reply(a, &iii_type_webhook, ret);
    return e;
}

static int do_webhook_deliveries(struct args *a)
{
    struct iii_webhook_delivery_page *ret = NULL;
    struct iii_webhook_deliveries_options options = {0};
    args_options(a, &iii_type_webhook_deliveries_options, &options);
    int e = iii_webhook_deliveries(a->client, args_text(a, "webhookId"), &options, &ret, a->err);
    args_reply(a, &iii_type_webhook_delivery_page, ret);
    return e;
}

static int do_webhook_purge(struct args *a)
{
    struct iii_webhook_purged *ret = NULL;
    struct iii_webhook_purge_options options = {0};
    args_options(a, &iii_type_webhook_purge_options, &options);
    int e = iii_webhook_purge(a->client, args_text(a, "webhookId"), &options, &ret, a->err);
    args_reply(a, &iii_type_webhook_purged, ret);
    return e;
}

static int do_webhook_retry(struct args *a)
{
    struct iii_webhook_retried *ret = NULL;
    struct iii_webhook_retry_options options = {0};
    args_options(a, &iii_type_webhook_retry_options, &options);
    int e = iii_webhook_retry(a->client, args_text(a, "webhookId"), &options, &ret, a->err);
    args_reply(a, &iii_type_webhook_retried, ret);
    return e;
}

static int do_egress_get(struct args *a)
{
    struct iii_egress_policy *ret = NULL;
    int e = iii_egress_get(a->sandbox, &ret, a->err);
    args_reply(a, &iii_type_egress_policy, ret);
    return e;
}

static int do_egress_set(struct args *a)
{
    struct iii_egress_policy *ret = NULL;
    struct iii_egress_set_options options = {0};
    args_options(a, &iii_type_egress_set_options, &options);
    int e = iii_egress_set(a->sandbox, &options, &ret, a->err);
    args_reply(a, &iii_type_egress_policy, ret);
    return e;
}

static int do_network_create(struct args *a)
{
    struct iii_sandbox_network *ret = NULL;
    struct iii_network_create_options options = {0};
    args_options(a, &iii_type_network_create_options, &options);
    int e = iii_network_create(a->client, args_text(a, "name"), &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_network, ret);
    return e;
}

static int do_network_list(struct args *a)
{
    struct iii_network_list *ret = NULL;
    int e = iii_network_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_network_list, ret);
    return e;
}

static int do_network_connect(struct args *a)
{
    struct iii_network_connected *ret = NULL;
    int e = iii_network_connect(a->client, args_text(a, "networkId"), args_text(a, "sandboxId"), &ret, a->err);
    args_reply(a, &iii_type_network_connected, ret);
    return e;
}

static int do_network_disconnect(struct args *a)
{
    struct iii_network_disconnected *ret = NULL;
    int e = iii_network_disconnect(a->client, args_text(a, "networkId"), args_text(a, "sandboxId"), &ret, a->err);
    args_reply(a, &iii_type_network_disconnected, ret);
    return e;
}

static int do_network_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_network_delete(a->client, args_text(a, "networkId"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_volume_create(struct args *a)
{
    struct iii_sandbox_volume *ret = NULL;
    struct iii_volume_create_options options = {0};
    args_options(a, &iii_type_volume_create_options, &options);
    int e = iii_volume_create(a->client, args_text(a, "name"), &options, &ret, a->err);
    args_reply(a, &iii_type_sandbox_volume, ret);
    return e;
}

static int do_volume_list(struct args *a)
{
    struct iii_volume_list *ret = NULL;
    int e = iii_volume_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_volume_list, ret);
    return e;
}

static int do_volume_delete(struct args *a)
{
    struct iii_deleted *ret = NULL;
    int e = iii_volume_delete(a->client, args_text(a, "volumeId"), &ret, a->err);
    args_reply(a, &iii_type_deleted, ret);
    return e;
}

static int do_volume_attach(struct args *a)
{
    struct iii_volume_attached *ret = NULL;
    struct iii_volume_attach_options options = {0};
    args_options(a, &iii_type_volume_attach_options, &options);
    int e = iii_volume_attach(a->client, args_text(a, "volumeId"), args_text(a, "sandboxId"), args_text(a, "mountPath"),
        &options, &ret, a->err);
    args_reply(a, &iii_type_volume_attached, ret);
    return e;
}

static int do_volume_detach(struct args *a)
{
    struct iii_volume_detached *ret = NULL;
    int e = iii_volume_detach(a->client, args_text(a, "volumeId"), &ret, a->err);
    args_reply(a, &iii_type_volume_detached, ret);
    return e;
}

static int do_worker_list(struct args *a)
{
    struct iii_worker_list *ret = NULL;
    int e = iii_worker_list(a->client, &ret, a->err);
    args_reply(a, &iii_type_worker_list, ret);
    return e;
}

static int do_worker_select(struct args *a)
{
    struct iii_worker_selected *ret = NULL;
    int e = iii_worker_select(a->client, &ret, a->err);
    args_reply(a, &iii_type_worker_selected, ret);
    return e;
}

static int do_worker_reap(struct args *a)
{
    struct iii_workers_reaped *ret = NULL;
    int e = iii_worker_reap(a->client, &ret, a->err);
    args_reply(a, &iii_type_workers_reaped, ret);
    return e;
}

static int do_worker_migrate(struct args *a)
{
    struct iii_workers_migrated *ret = NULL;
    int e = iii_worker_migrate(a->client, &ret, a->err);
    args_reply(a, &iii_type_workers_migrated, ret);
    return e;
}

static int do_worker_heartbeat(struct args *a)
{
    struct iii_worker_info *ret = NULL;
    int e = iii_worker_heartbeat(a->client, &ret, a->err);
    args_reply(a, &iii_type_worker_info, ret);
    return e;
}

static int do_audit_list(struct args *a)
{
    struct iii_audit_page *ret = NULL;
    struct iii_audit_list_options options = {0};
    args_options(a, &iii_type_audit_list_options, &options);
    int e = iii_audit_list(a->client, &options, &ret, a->err);
    args_reply(a, &iii_type_audit_page, ret);
    return e;
}

static int do_audit_verify(struct args *a)
{
    struct iii_audit_verdict *ret = NULL;
    int e = iii_audit_verify(a->client, &ret, a->err);
    args_reply(a, &iii_type_audit_verdict, ret);
    return e;
}

static int do_function_call(struct args *a)
{
    struct iii_function_result *ret = NULL;
    struct iii_function_call_options options = {0};
    args_options(a, &iii_type_function_call_options, &options);
    int e = iii_function_call(a->client, args_text(a, "functionId"), &options, &ret, a->err);
    args_reply(a, &iii_type_function_result, ret);
    return e;
}

const struct dispatch dispatch_table[] = {
    {"sandbox_create", false, do_sandbox_create},
    {"sandbox_list", false, do_sandbox_list},
    {"sandbox_get", false, do_sandbox_get},
    {"sandbox_kill", false, do_sandbox_kill},
    {"sandbox_pause", false, do_sandbox_pause},
    {"sandbox_resume", false, do_sandbox_resume},
    {"sandbox_stop", false, do_sandbox_stop},
    {"sandbox_start", false, do_sandbox_start},
    {"sandbox_restart", false, do_sandbox_restart},
    {"sandbox_hibernate", false, do_sandbox_hibernate},
    {"sandbox_policy", false, do_sandbox_policy},
    {"sandbox_renew", false, do_sandbox_renew},
    {"sandbox_resize", false, do_sandbox_resize},
    {"sandbox_label", false, do_sandbox_label},
    {"sandbox_clone", false, do_sandbox_clone},
    {"sandbox_fork", false, do_sandbox_fork},
    {"cmd_run", false, do_cmd_run},
    {"cmd_run_stream", true, do_cmd_run_stream},
    {"cmd_background", false, do_cmd_background},
    {"cmd_background_status", false, do_cmd_background_status},
    {"cmd_background_logs", false, do_cmd_background_logs},
    {"cmd_interrupt", false, do_cmd_interrupt},
    {"exec_start", false, do_exec_start},
    {"exec_list", false, do_exec_list},
    {"exec_get", false, do_exec_get},
    {"exec_output", false, do_exec_output},
    {"exec_output", true, do_exec_output_events},
    {"exec_input", false, do_exec_input},
    {"exec_signal", false, do_exec_signal},
    {"queue_submit", false, do_queue_submit},
    {"queue_list", false, do_queue_list},
    {"queue_status", false, do_queue_status},
    {"queue_cancel", false, do_queue_cancel},
    {"queue_retry", false, do_queue_retry},
    {"queue_dlq", false, do_queue_dlq},
    {"fs_read", false, do_fs_read},
    {"fs_write", false, do_fs_write},
    {"fs_delete", false, do_fs_delete},
    {"fs_list", false, do_fs_list},
    {"fs_search", false, do_fs_search},
    {"fs_upload", false, do_fs_upload},
    {"fs_download", false, do_fs_download},
    {"fs_info", false, do_fs_info},
    {"fs_move", false, do_fs_move},
    {"fs_mkdir", false, do_fs_mkdir},
    {"fs_rmdir", false, do_fs_rmdir},
    {"fs_chmod", false, do_fs_chmod},
    {"fs_watch", true, do_fs_watch},
    {"fs_sign", false, do_fs_sign},
    {"link_rotate", false, do_link_rotate},
    {"env_get", false, do_env_get},
    {"env_set", false, do_env_set},
    {"env_list", false, do_env_list},
    {"env_delete", false, do_env_delete},
    {"proc_list", false, do_proc_list},
    {"proc_top", false, do_proc_top},
    {"proc_kill", false, do_proc_kill},
    {"service_list", false, do_service_list},
    {"service_start", false, do_service_start},
    {"service_stop", false, do_service_stop},
    {"service_restart", false, do_service_restart},
    {"service_logs", false, do_service_logs},
    {"service_logs", true, do_service_logs_events},
    {"git_clone", false, do_git_clone},
    {"git_status", false, do_git_status},
    {"git_commit", false, do_git_commit},
    {"git_diff", false, do_git_diff},
    {"git_log", false, do_git_log},
    {"git_branch", false, do_git_branch},
    {"git_checkout", false, do_git_checkout},
    {"git_push", false, do_git_push},
    {"git_pull", false, do_git_pull},
    {"template_create", false, do_template_create},
    {"template_list", false, do_template_list},
    {"template_get", false, do_template_get},
    {"template_delete", false, do_template_delete},
    {"image_list", false, do_image_list},
    {"image_delete_query", false, do_image_delete_query},
    {"image_pull", false, do_image_pull},
    {"image_pull", true, do_image_pull_events},
    {"image_verify", false, do_image_verify},
    {"image_inspect", false, do_image_inspect},
    {"image_delete", false, do_image_delete},
    {"snapshot_create", false, do_snapshot_create},
    {"snapshot_list", false, do_snapshot_list},
    {"snapshot_restore", false, do_snapshot_restore},
    {"snapshot_clone", false, do_snapshot_clone},
    {"snapshot_delete", false, do_snapshot_delete},
    {"snapshot_create_short", false, do_snapshot_create_short},
    {"metrics_sandbox", false, do_metrics_sandbox},
    {"metrics_global", false, do_metrics_global},
    {"health", false, do_health},
    {"pool_status", false, do_pool_status},
    {"ttl_sweep", false, do_ttl_sweep},
    {"openapi", false, do_openapi},
    {"interp_execute", false, do_interp_execute},
    {"interp_install", false, do_interp_install},
    {"interp_kernels", false, do_interp_kernels},
    {"context_create", false, do_context_create},
    {"context_list", false, do_context_list},
    {"context_get", false, do_context_get},
    {"context_delete", false, do_context_delete},
    {"context_execute", false, do_context_execute},
    {"context_execute_stream", true, do_context_execute_stream},
    {"context_interrupt", false, do_context_interrupt},
    {"context_restart", false, do_context_restart},
    {"port_expose", false, do_port_expose},
    {"port_list", false, do_port_list},
    {"port_unexpose", false, do_port_unexpose},
    {"preview_open", false, do_preview_open},
    {"proxy_request", false, do_proxy_request},
    {"proxy_config", false, do_proxy_config},
    {"terminal_create", false, do_terminal_create},
    {"terminal_resize", false, do_terminal_resize},
    {"terminal_close", false, do_terminal_close},
    {"token_create", false, do_token_create},
    {"token_list", false, do_token_list},
    {"token_get", false, do_token_get},
    {"token_revoke", false, do_token_revoke},
    {"token_rotate", false, do_token_rotate},
    {"ssh_key_add", false, do_ssh_key_add},
    {"ssh_key_list", false, do_ssh_key_list},
    {"ssh_key_delete", false, do_ssh_key_delete},
    {"ssh_info", false, do_ssh_info},
    {"event_history", false, do_event_history},
    {"event_publish", false, do_event_publish},
    {"observability_traces", false, do_observability_traces},
    {"observability_metrics", false, do_observability_metrics},
    {"observability_clear", false, do_observability_clear},
    {"stream_logs", true, do_stream_logs},
    {"stream_metrics", true, do_stream_metrics},
    {"stream_events", true, do_stream_events},
    {"alert_set", false, do_alert_set},
    {"alert_list", false, do_alert_list},
    {"alert_delete", false, do_alert_delete},
    {"alert_history", false, do_alert_history},
    {"webhook_create", false, do_webhook_create},
    {"webhook_list", false, do_webhook_list},
    {"webhook_get", false, do_webhook_get},
    {"webhook_update", false, do_webhook_update},
    {"webhook_delete", false, do_webhook_delete},
    {"webhook_test", false, do_webhook_test},
    {"webhook_rotate", false, do_webhook_rotate},
    {"webhook_deliveries", false, do_webhook_deliveries},
    {"webhook_purge", false, do_webhook_purge},
    {"webhook_retry", false, do_webhook_retry},
    {"egress_get", false, do_egress_get},
    {"egress_set", false, do_egress_set},
    {"network_create", false, do_network_create},
    {"network_list", false, do_network_list},
    {"network_connect", false, do_network_connect},
    {"network_disconnect", false, do_network_disconnect},
    {"network_delete", false, do_network_delete},
    {"volume_create", false, do_volume_create},
    {"volume_list", false, do_volume_list},
    {"volume_delete", false, do_volume_delete},
    {"volume_attach", false, do_volume_attach},
    {"volume_detach", false, do_volume_detach},
    {"worker_list", false, do_worker_list},
    {"worker_select", false, do_worker_select},
    {"worker_reap", false, do_worker_reap},
    {"worker_migrate", false, do_worker_migrate},
    {"worker_heartbeat", false, do_worker_heartbeat},
    {"audit_list", false, do_audit_list},
    {"audit_verify", false, do_audit_verify},
    {"function_call", false, do_function_call},
    {NULL, false, NULL},
};
