/* Generated from docs/openapi.json by tools/sdkgen; do not edit. */
#include "tables.h"

#include <stddef.h>

static const struct table_field fields_file_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_event, type), offsetof(struct iii_file_event, type_len), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_event, path), offsetof(struct iii_file_event, path_len), NULL},
    {"directory", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_event, directory), 0, NULL},
    {"oldPath", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_event, old_path), offsetof(struct iii_file_event, old_path_len), NULL},
    {"message", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_event, message), offsetof(struct iii_file_event, message_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_event, error), offsetof(struct iii_file_event, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_event, code), offsetof(struct iii_file_event, code_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_event, timestamp), 0, NULL},
};
const struct table_type iii_type_file_event = {"FileEvent", sizeof(struct iii_file_event), fields_file_event, 8, false};

static const struct table_field fields_file_url[] = {
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_url, url), offsetof(struct iii_file_url, url_len), NULL},
    {"method", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_url, method), offsetof(struct iii_file_url, method_len), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_url, path), offsetof(struct iii_file_url, path_len), NULL},
    {"expiresAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_url, expires_at), 0, NULL},
    {"once", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_url, once), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_file_url, warnings), offsetof(struct iii_file_url, warnings_count), NULL},
};
const struct table_type iii_type_file_url = {"FileUrl", sizeof(struct iii_file_url), fields_file_url, 6, false};

static const struct table_field fields_file_content[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_content, path), offsetof(struct iii_file_content, path_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_content, size), 0, NULL},
    {"mode", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_content, mode), offsetof(struct iii_file_content, mode_len), NULL},
    {"etag", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_content, etag), offsetof(struct iii_file_content, etag_len), NULL},
    {"modifiedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_content, modified_at), 0, NULL},
    {"created", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_content, created), 0, NULL},
    {"entries", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_file_content, entries), 0, NULL},
    {"files", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_file_content, files), offsetof(struct iii_file_content, files_count), &iii_type_file_content},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_file_content, warnings), offsetof(struct iii_file_content, warnings_count), NULL},
};
const struct table_type iii_type_file_content = {"FileContent", sizeof(struct iii_file_content), fields_file_content, 9, false};

static const struct table_field fields_service_ready[] = {
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_ready, port), 0, NULL},
    {"http", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_ready, http), offsetof(struct iii_service_ready, http_len), NULL},
    {"command", KIND_COMMAND, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_ready, command), 0, NULL},
    {"intervalMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_ready, interval_ms), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_ready, timeout), 0, NULL},
};
const struct table_type iii_type_service_ready = {"ServiceReady", sizeof(struct iii_service_ready), fields_service_ready, 5, false};

static const struct table_field fields_service_config[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_config, name), offsetof(struct iii_service_config, name_len), NULL},
    {"command", KIND_COMMAND, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_config, command), 0, NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_service_config, env), offsetof(struct iii_service_config, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, user), offsetof(struct iii_service_config, user_len), NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, cwd), offsetof(struct iii_service_config, cwd_len), NULL},
    {"ready", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, ready), 0, &iii_type_service_ready},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, restart), offsetof(struct iii_service_config, restart_len), NULL},
    {"maxRestarts", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, max_restarts), 0, NULL},
    {"backoffMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, backoff_ms), 0, NULL},
    {"stopTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_config, stop_timeout), 0, NULL},
    {"dependsOn", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_service_config, depends_on), offsetof(struct iii_service_config, depends_on_count), NULL},
};
const struct table_type iii_type_service_config = {"ServiceConfig", sizeof(struct iii_service_config), fields_service_config, 11, false};

static const struct table_field fields_service[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service, name), offsetof(struct iii_service, name_len), NULL},
    {"state", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service, state), offsetof(struct iii_service, state_len), NULL},
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service, pid), 0, NULL},
    {"restarts", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service, restarts), 0, NULL},
    {"since", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service, since), 0, NULL},
    {"exitCode", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service, exit_code), 0, NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service, error), offsetof(struct iii_service, error_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_service, warnings), offsetof(struct iii_service, warnings_count), NULL},
};
const struct table_type iii_type_service = {"Service", sizeof(struct iii_service), fields_service, 8, false};

static const struct table_field fields_service_list[] = {
    {"services", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_service_list, services), offsetof(struct iii_service_list, services_count), &iii_type_service},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_service_list, warnings), offsetof(struct iii_service_list, warnings_count), NULL},
};
const struct table_type iii_type_service_list = {"ServiceList", sizeof(struct iii_service_list), fields_service_list, 2, false};

static const struct table_field fields_service_output[] = {
    {"output", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_output, output), offsetof(struct iii_service_output, output_len), NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_output, offset), 0, NULL},
    {"running", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_output, running), 0, NULL},
    {"encoding", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_output, encoding), offsetof(struct iii_service_output, encoding_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_service_output, warnings), offsetof(struct iii_service_output, warnings_count), NULL},
};
const struct table_type iii_type_service_output = {"ServiceOutput", sizeof(struct iii_service_output), fields_service_output, 5, false};

static const struct table_field fields_service_output_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_output_event, type), offsetof(struct iii_service_output_event, type_len), NULL},
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_output_event, data), offsetof(struct iii_service_output_event, data_len), NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_output_event, offset), 0, NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_output_event, error), offsetof(struct iii_service_output_event, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_output_event, code), offsetof(struct iii_service_output_event, code_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_service_output_event, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_service_output_event, tenant), offsetof(struct iii_service_output_event, tenant_len), NULL},
};
const struct table_type iii_type_service_output_event = {"ServiceOutputEvent", sizeof(struct iii_service_output_event), fields_service_output_event, 7, false};

static const struct table_field fields_ssh_key[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, id), offsetof(struct iii_ssh_key, id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, name), offsetof(struct iii_ssh_key, name_len), NULL},
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, type), offsetof(struct iii_ssh_key, type_len), NULL},
    {"fingerprint", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, fingerprint), offsetof(struct iii_ssh_key, fingerprint_len), NULL},
    {"bits", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, bits), 0, NULL},
    {"token", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, token), offsetof(struct iii_ssh_key, token_len), NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_key, created_at), 0, NULL},
    {"sandbox", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_key, sandbox), offsetof(struct iii_ssh_key, sandbox_len), NULL},
    {"expires", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_key, expires), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_key, tenant), offsetof(struct iii_ssh_key, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_ssh_key, warnings), offsetof(struct iii_ssh_key, warnings_count), NULL},
};
const struct table_type iii_type_ssh_key = {"SshKey", sizeof(struct iii_ssh_key), fields_ssh_key, 11, false};

static const struct table_field fields_ssh_key_list[] = {
    {"keys", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_ssh_key_list, keys), offsetof(struct iii_ssh_key_list, keys_count), &iii_type_ssh_key},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_ssh_key_list, warnings), offsetof(struct iii_ssh_key_list, warnings_count), NULL},
};
const struct table_type iii_type_ssh_key_list = {"SshKeyList", sizeof(struct iii_ssh_key_list), fields_ssh_key_list, 2, false};

static const struct table_field fields_ssh_info[] = {
    {"enabled", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_ssh_info, enabled), 0, NULL},
    {"host", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_info, host), offsetof(struct iii_ssh_info, host_len), NULL},
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_info, port), 0, NULL},
    {"hostKey", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_info, host_key), offsetof(struct iii_ssh_info, host_key_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_ssh_info, warnings), offsetof(struct iii_ssh_info, warnings_count), NULL},
};
const struct table_type iii_type_ssh_info = {"SshInfo", sizeof(struct iii_ssh_info), fields_ssh_info, 5, false};

static const struct table_field fields_webhook[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, id), offsetof(struct iii_webhook, id_len), NULL},
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, url), offsetof(struct iii_webhook, url_len), NULL},
    {"events", KIND_TEXT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_webhook, events), offsetof(struct iii_webhook, events_count), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, sandbox_id), offsetof(struct iii_webhook, sandbox_id_len), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_webhook, metadata), offsetof(struct iii_webhook, metadata_count), NULL},
    {"description", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, description), offsetof(struct iii_webhook, description_len), NULL},
    {"enabled", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, enabled), 0, NULL},
    {"disabledReason", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, disabled_reason), offsetof(struct iii_webhook, disabled_reason_len), NULL},
    {"failingSince", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, failing_since), 0, NULL},
    {"pending", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, pending), 0, NULL},
    {"dead", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, dead), 0, NULL},
    {"dropped", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, dropped), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook, created_at), 0, NULL},
    {"updatedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, updated_at), 0, NULL},
    {"secret", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, secret), offsetof(struct iii_webhook, secret_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook, tenant), offsetof(struct iii_webhook, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook, warnings), offsetof(struct iii_webhook, warnings_count), NULL},
};
const struct table_type iii_type_webhook = {"Webhook", sizeof(struct iii_webhook), fields_webhook, 17, false};

static const struct table_field fields_webhook_list[] = {
    {"webhooks", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_webhook_list, webhooks), offsetof(struct iii_webhook_list, webhooks_count), &iii_type_webhook},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_list, warnings), offsetof(struct iii_webhook_list, warnings_count), NULL},
};
const struct table_type iii_type_webhook_list = {"WebhookList", sizeof(struct iii_webhook_list), fields_webhook_list, 2, false};

static const struct table_field fields_webhook_test[] = {
    {"delivered", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_test, delivered), 0, NULL},
    {"status", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_test, status), 0, NULL},
    {"durationMs", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_test, duration_ms), 0, NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_test, error), offsetof(struct iii_webhook_test, error_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_test, warnings), offsetof(struct iii_webhook_test, warnings_count), NULL},
};
const struct table_type iii_type_webhook_test = {"WebhookTest", sizeof(struct iii_webhook_test), fields_webhook_test, 5, false};

static const struct table_field fields_webhook_delivery[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery, id), offsetof(struct iii_webhook_delivery, id_len), NULL},
    {"webhookId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery, webhook_id), offsetof(struct iii_webhook_delivery, webhook_id_len), NULL},
    {"topic", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery, topic), offsetof(struct iii_webhook_delivery, topic_len), NULL},
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery, status), offsetof(struct iii_webhook_delivery, status_len), NULL},
    {"attempts", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery, attempts), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery, created_at), 0, NULL},
    {"nextAttemptAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_delivery, next_attempt_at), 0, NULL},
    {"lastAttemptAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_delivery, last_attempt_at), 0, NULL},
    {"lastStatus", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_delivery, last_status), 0, NULL},
    {"lastError", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_delivery, last_error), offsetof(struct iii_webhook_delivery, last_error_len), NULL},
};
const struct table_type iii_type_webhook_delivery = {"WebhookDelivery", sizeof(struct iii_webhook_delivery), fields_webhook_delivery, 10, false};

static const struct table_field fields_webhook_delivery_page[] = {
    {"deliveries", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_webhook_delivery_page, deliveries), offsetof(struct iii_webhook_delivery_page, deliveries_count), &iii_type_webhook_delivery},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_delivery_page, total), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_delivery_page, warnings), offsetof(struct iii_webhook_delivery_page, warnings_count), NULL},
};
const struct table_type iii_type_webhook_delivery_page = {"WebhookDeliveryPage", sizeof(struct iii_webhook_delivery_page), fields_webhook_delivery_page, 3, false};

static const struct table_field fields_webhook_retried[] = {
    {"retried", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_retried, retried), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_retried, warnings), offsetof(struct iii_webhook_retried, warnings_count), NULL},
};
const struct table_type iii_type_webhook_retried = {"WebhookRetried", sizeof(struct iii_webhook_retried), fields_webhook_retried, 2, false};

static const struct table_field fields_webhook_purged[] = {
    {"purged", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_webhook_purged, purged), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_purged, warnings), offsetof(struct iii_webhook_purged, warnings_count), NULL},
};
const struct table_type iii_type_webhook_purged = {"WebhookPurged", sizeof(struct iii_webhook_purged), fields_webhook_purged, 2, false};

static const struct table_field fields_sandbox_config[] = {
    {"image", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, image), offsetof(struct iii_sandbox_config, image_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, name), offsetof(struct iii_sandbox_config, name_len), NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, timeout), 0, NULL},
    {"idleTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, idle_timeout), 0, NULL},
    {"memory", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, memory), 0, NULL},
    {"cpu", KIND_NUMBER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, cpu), 0, NULL},
    {"network", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, network), 0, NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_sandbox_config, env), offsetof(struct iii_sandbox_config, env_count), NULL},
    {"workdir", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, workdir), offsetof(struct iii_sandbox_config, workdir_len), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_sandbox_config, metadata), offsetof(struct iii_sandbox_config, metadata_count), NULL},
    {"entrypoint", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_config, entrypoint), offsetof(struct iii_sandbox_config, entrypoint_count), NULL},
    {"diskMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, disk_mb), 0, NULL},
    {"inodes", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, inodes), 0, NULL},
    {"pids", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, pids), 0, NULL},
    {"openFiles", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, open_files), 0, NULL},
    {"shmMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, shm_mb), 0, NULL},
    {"netMbps", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, net_mbps), 0, NULL},
    {"onTimeout", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, on_timeout), offsetof(struct iii_sandbox_config, on_timeout_len), NULL},
    {"onIdle", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, on_idle), offsetof(struct iii_sandbox_config, on_idle_len), NULL},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, restart), offsetof(struct iii_sandbox_config, restart_len), NULL},
    {"autoResume", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, auto_resume), 0, NULL},
    {"seccomp", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_config, seccomp), offsetof(struct iii_sandbox_config, seccomp_len), NULL},
    {"services", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_config, services), offsetof(struct iii_sandbox_config, services_count), &iii_type_service_config},
};
const struct table_type iii_type_sandbox_config = {"SandboxConfig", sizeof(struct iii_sandbox_config), fields_sandbox_config, 23, false};

static const struct table_field fields_sandbox_info[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, id), offsetof(struct iii_sandbox_info, id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, name), offsetof(struct iii_sandbox_info, name_len), NULL},
    {"image", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, image), offsetof(struct iii_sandbox_info, image_len), NULL},
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, status), offsetof(struct iii_sandbox_info, status_len), NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, created_at), 0, NULL},
    {"expiresAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, expires_at), 0, NULL},
    {"config", KIND_OBJECT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_info, config), 0, &iii_type_sandbox_config},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_sandbox_info, metadata), offsetof(struct iii_sandbox_info, metadata_count), NULL},
    {"entrypoint", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_info, entrypoint), offsetof(struct iii_sandbox_info, entrypoint_count), NULL},
    {"parentId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, parent_id), offsetof(struct iii_sandbox_info, parent_id_len), NULL},
    {"workerId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, worker_id), offsetof(struct iii_sandbox_info, worker_id_len), NULL},
    {"backend", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, backend), offsetof(struct iii_sandbox_info, backend_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, tenant), offsetof(struct iii_sandbox_info, tenant_len), NULL},
    {"withoutAgent", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, without_agent), offsetof(struct iii_sandbox_info, without_agent_len), NULL},
    {"resolvedImage", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, resolved_image), offsetof(struct iii_sandbox_info, resolved_image_len), NULL},
    {"imageDigest", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, image_digest), offsetof(struct iii_sandbox_info, image_digest_len), NULL},
    {"imageVersion", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, image_version), offsetof(struct iii_sandbox_info, image_version_len), NULL},
    {"stoppedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, stopped_at), 0, NULL},
    {"stopReason", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, stop_reason), offsetof(struct iii_sandbox_info, stop_reason_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_info, error), offsetof(struct iii_sandbox_info, error_len), NULL},
    {"services", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_info, services), offsetof(struct iii_sandbox_info, services_count), &iii_type_service},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_info, warnings), offsetof(struct iii_sandbox_info, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_info = {"SandboxInfo", sizeof(struct iii_sandbox_info), fields_sandbox_info, 22, false};

static const struct table_field fields_sandbox_fork[] = {
    {"sandboxes", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_sandbox_fork, sandboxes), offsetof(struct iii_sandbox_fork, sandboxes_count), &iii_type_sandbox_info},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_fork, warnings), offsetof(struct iii_sandbox_fork, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_fork = {"SandboxFork", sizeof(struct iii_sandbox_fork), fields_sandbox_fork, 2, false};

static const struct table_field fields_sandbox_page[] = {
    {"items", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_sandbox_page, items), offsetof(struct iii_sandbox_page, items_count), &iii_type_sandbox_info},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_page, total), 0, NULL},
    {"page", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_page, page), 0, NULL},
    {"pageSize", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_page, page_size), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_page, warnings), offsetof(struct iii_sandbox_page, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_page = {"SandboxPage", sizeof(struct iii_sandbox_page), fields_sandbox_page, 5, false};

static const struct table_field fields_exec_result[] = {
    {"exitCode", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_result, exit_code), 0, NULL},
    {"stdout", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_result, stdout_), offsetof(struct iii_exec_result, stdout_len), NULL},
    {"stderr", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_result, stderr_), offsetof(struct iii_exec_result, stderr_len), NULL},
    {"duration", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_result, duration), 0, NULL},
    {"userMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, user_ms), 0, NULL},
    {"systemMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, system_ms), 0, NULL},
    {"maxRssKb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, max_rss_kb), 0, NULL},
    {"stdoutTruncated", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, stdout_truncated), 0, NULL},
    {"stderrTruncated", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, stderr_truncated), 0, NULL},
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, signal), offsetof(struct iii_exec_result, signal_len), NULL},
    {"timedOut", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, timed_out), 0, NULL},
    {"oomKilled", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_result, oom_killed), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_exec_result, warnings), offsetof(struct iii_exec_result, warnings_count), NULL},
};
const struct table_type iii_type_exec_result = {"ExecResult", sizeof(struct iii_exec_result), fields_exec_result, 13, false};

static const struct table_field fields_exec_stream_chunk[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_stream_chunk, type), offsetof(struct iii_exec_stream_chunk, type_len), NULL},
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, data), offsetof(struct iii_exec_stream_chunk, data_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, error), offsetof(struct iii_exec_stream_chunk, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, code), offsetof(struct iii_exec_stream_chunk, code_len), NULL},
    {"duration", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, duration), 0, NULL},
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, signal), offsetof(struct iii_exec_stream_chunk, signal_len), NULL},
    {"timedOut", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, timed_out), 0, NULL},
    {"oomKilled", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, oom_killed), 0, NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_stream_chunk, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_stream_chunk, tenant), offsetof(struct iii_exec_stream_chunk, tenant_len), NULL},
};
const struct table_type iii_type_exec_stream_chunk = {"ExecStreamChunk", sizeof(struct iii_exec_stream_chunk), fields_exec_stream_chunk, 10, false};

static const struct table_field fields_log_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_log_event, type), offsetof(struct iii_log_event, type_len), NULL},
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_log_event, data), offsetof(struct iii_log_event, data_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_log_event, error), offsetof(struct iii_log_event, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_log_event, code), offsetof(struct iii_log_event, code_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_log_event, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_log_event, tenant), offsetof(struct iii_log_event, tenant_len), NULL},
};
const struct table_type iii_type_log_event = {"LogEvent", sizeof(struct iii_log_event), fields_log_event, 6, false};

static const struct table_field fields_background_exec[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_exec, id), offsetof(struct iii_background_exec, id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_exec, sandbox_id), offsetof(struct iii_background_exec, sandbox_id_len), NULL},
    {"command", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_exec, command), offsetof(struct iii_background_exec, command_len), NULL},
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, pid), 0, NULL},
    {"running", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_exec, running), 0, NULL},
    {"exitCode", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, exit_code), 0, NULL},
    {"startedAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_exec, started_at), 0, NULL},
    {"finishedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, finished_at), 0, NULL},
    {"stdin", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, stdin_), 0, NULL},
    {"logBytes", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, log_bytes), 0, NULL},
    {"truncated", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, truncated), 0, NULL},
    {"userMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, user_ms), 0, NULL},
    {"systemMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, system_ms), 0, NULL},
    {"maxRssKb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, max_rss_kb), 0, NULL},
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, signal), offsetof(struct iii_background_exec, signal_len), NULL},
    {"oomKilled", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, oom_killed), 0, NULL},
    {"timedOut", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_background_exec, timed_out), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_background_exec, warnings), offsetof(struct iii_background_exec, warnings_count), NULL},
};
const struct table_type iii_type_background_exec = {"BackgroundExec", sizeof(struct iii_background_exec), fields_background_exec, 18, false};

static const struct table_field fields_background_logs[] = {
    {"output", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_logs, output), offsetof(struct iii_background_logs, output_len), NULL},
    {"cursor", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_background_logs, cursor), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_background_logs, warnings), offsetof(struct iii_background_logs, warnings_count), NULL},
};
const struct table_type iii_type_background_logs = {"BackgroundLogs", sizeof(struct iii_background_logs), fields_background_logs, 3, false};

static const struct table_field fields_durable_exec[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, id), offsetof(struct iii_durable_exec, id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, sandbox_id), offsetof(struct iii_durable_exec, sandbox_id_len), NULL},
    {"command", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, command), offsetof(struct iii_durable_exec, command_len), NULL},
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, pid), 0, NULL},
    {"running", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, running), 0, NULL},
    {"exitCode", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, exit_code), 0, NULL},
    {"startedAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, started_at), 0, NULL},
    {"finishedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, finished_at), 0, NULL},
    {"stdin", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, stdin_), 0, NULL},
    {"logBytes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, log_bytes), 0, NULL},
    {"truncated", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_durable_exec, truncated), 0, NULL},
    {"userMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, user_ms), 0, NULL},
    {"systemMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, system_ms), 0, NULL},
    {"maxRssKb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, max_rss_kb), 0, NULL},
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, signal), offsetof(struct iii_durable_exec, signal_len), NULL},
    {"oomKilled", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, oom_killed), 0, NULL},
    {"timedOut", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_durable_exec, timed_out), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_durable_exec, warnings), offsetof(struct iii_durable_exec, warnings_count), NULL},
};
const struct table_type iii_type_durable_exec = {"DurableExec", sizeof(struct iii_durable_exec), fields_durable_exec, 18, false};

static const struct table_field fields_durable_exec_list[] = {
    {"execs", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_durable_exec_list, execs), offsetof(struct iii_durable_exec_list, execs_count), &iii_type_durable_exec},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_durable_exec_list, warnings), offsetof(struct iii_durable_exec_list, warnings_count), NULL},
};
const struct table_type iii_type_durable_exec_list = {"DurableExecList", sizeof(struct iii_durable_exec_list), fields_durable_exec_list, 2, false};

static const struct table_field fields_exec_output[] = {
    {"output", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_output, output), offsetof(struct iii_exec_output, output_len), NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_output, offset), 0, NULL},
    {"running", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_output, running), 0, NULL},
    {"encoding", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_output, encoding), offsetof(struct iii_exec_output, encoding_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_exec_output, warnings), offsetof(struct iii_exec_output, warnings_count), NULL},
};
const struct table_type iii_type_exec_output = {"ExecOutput", sizeof(struct iii_exec_output), fields_exec_output, 5, false};

static const struct table_field fields_exec_output_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_output_event, type), offsetof(struct iii_exec_output_event, type_len), NULL},
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_output_event, data), offsetof(struct iii_exec_output_event, data_len), NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_output_event, offset), 0, NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_output_event, error), offsetof(struct iii_exec_output_event, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_output_event, code), offsetof(struct iii_exec_output_event, code_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_output_event, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_output_event, tenant), offsetof(struct iii_exec_output_event, tenant_len), NULL},
};
const struct table_type iii_type_exec_output_event = {"ExecOutputEvent", sizeof(struct iii_exec_output_event), fields_exec_output_event, 7, false};

static const struct table_field fields_exec_written[] = {
    {"written", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_written, written), 0, NULL},
    {"closed", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_written, closed), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_exec_written, warnings), offsetof(struct iii_exec_written, warnings_count), NULL},
};
const struct table_type iii_type_exec_written = {"ExecWritten", sizeof(struct iii_exec_written), fields_exec_written, 3, false};

static const struct table_field fields_exec_signalled[] = {
    {"signalled", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_signalled, signalled), offsetof(struct iii_exec_signalled, signalled_len), NULL},
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_exec_signalled, signal), offsetof(struct iii_exec_signalled, signal_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_exec_signalled, warnings), offsetof(struct iii_exec_signalled, warnings_count), NULL},
};
const struct table_type iii_type_exec_signalled = {"ExecSignalled", sizeof(struct iii_exec_signalled), fields_exec_signalled, 3, false};

static const struct table_field fields_queue_job_info[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, id), offsetof(struct iii_queue_job_info, id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, sandbox_id), offsetof(struct iii_queue_job_info, sandbox_id_len), NULL},
    {"command", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, command), offsetof(struct iii_queue_job_info, command_len), NULL},
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, status), offsetof(struct iii_queue_job_info, status_len), NULL},
    {"result", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_job_info, result), 0, &iii_type_exec_result},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_job_info, error), offsetof(struct iii_queue_job_info, error_len), NULL},
    {"retries", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, retries), 0, NULL},
    {"maxRetries", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, max_retries), 0, NULL},
    {"retryOnExit", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_job_info, retry_on_exit), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_info, created_at), 0, NULL},
    {"startedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_job_info, started_at), 0, NULL},
    {"completedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_job_info, completed_at), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_job_info, tenant), offsetof(struct iii_queue_job_info, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_queue_job_info, warnings), offsetof(struct iii_queue_job_info, warnings_count), NULL},
};
const struct table_type iii_type_queue_job_info = {"QueueJobInfo", sizeof(struct iii_queue_job_info), fields_queue_job_info, 14, false};

static const struct table_field fields_queue_cancelled[] = {
    {"cancelled", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_cancelled, cancelled), offsetof(struct iii_queue_cancelled, cancelled_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_queue_cancelled, warnings), offsetof(struct iii_queue_cancelled, warnings_count), NULL},
};
const struct table_type iii_type_queue_cancelled = {"QueueCancelled", sizeof(struct iii_queue_cancelled), fields_queue_cancelled, 2, false};

static const struct table_field fields_queue_job_page[] = {
    {"jobs", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_queue_job_page, jobs), offsetof(struct iii_queue_job_page, jobs_count), &iii_type_queue_job_info},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_queue_job_page, total), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_queue_job_page, warnings), offsetof(struct iii_queue_job_page, warnings_count), NULL},
};
const struct table_type iii_type_queue_job_page = {"QueueJobPage", sizeof(struct iii_queue_job_page), fields_queue_job_page, 3, false};

static const struct table_field fields_file_info[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_info, name), offsetof(struct iii_file_info, name_len), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_info, path), offsetof(struct iii_file_info, path_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_info, size), 0, NULL},
    {"isDirectory", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_info, is_directory), 0, NULL},
    {"modifiedAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_info, modified_at), 0, NULL},
};
const struct table_type iii_type_file_info = {"FileInfo", sizeof(struct iii_file_info), fields_file_info, 5, false};

static const struct table_field fields_file_info_list[] = {
    {"items", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_file_info_list, items), offsetof(struct iii_file_info_list, items_count), &iii_type_file_info},
};
const struct table_type iii_type_file_info_list = {"FileInfoList", sizeof(struct iii_file_info_list), fields_file_info_list, 1, true};

static const struct table_field fields_file_metadata[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, path), offsetof(struct iii_file_metadata, path_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, size), 0, NULL},
    {"permissions", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, permissions), offsetof(struct iii_file_metadata, permissions_len), NULL},
    {"owner", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, owner), offsetof(struct iii_file_metadata, owner_len), NULL},
    {"group", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, group), offsetof(struct iii_file_metadata, group_len), NULL},
    {"isDirectory", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, is_directory), 0, NULL},
    {"isSymlink", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, is_symlink), 0, NULL},
    {"modifiedAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_file_metadata, modified_at), 0, NULL},
};
const struct table_type iii_type_file_metadata = {"FileMetadata", sizeof(struct iii_file_metadata), fields_file_metadata, 8, false};

static const struct table_field fields_file_info_reply[] = {
    {"items", KIND_OBJECT, FORM_EITHER, IN_BODY, false, false, offsetof(struct iii_file_info_reply, items), offsetof(struct iii_file_info_reply, items_count), &iii_type_file_metadata},
};
const struct table_type iii_type_file_info_reply = {"FileInfoReply", sizeof(struct iii_file_info_reply), fields_file_info_reply, 1, true};

static const struct table_field fields_path_list[] = {
    {"items", KIND_TEXT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_path_list, items), offsetof(struct iii_path_list, items_count), NULL},
};
const struct table_type iii_type_path_list = {"PathList", sizeof(struct iii_path_list), fields_path_list, 1, true};

static const struct table_field fields_text[] = {
    {"value", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_text, value), offsetof(struct iii_text, value_len), NULL},
};
const struct table_type iii_type_text = {"Text", sizeof(struct iii_text), fields_text, 1, true};

static const struct table_field fields_base64[] = {
    {"value", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_base64, value), offsetof(struct iii_base64, value_len), NULL},
};
const struct table_type iii_type_base64 = {"Base64", sizeof(struct iii_base64), fields_base64, 1, true};

static const struct table_field fields_success[] = {
    {"success", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_success, success), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_success, warnings), offsetof(struct iii_success, warnings_count), NULL},
};
const struct table_type iii_type_success = {"Success", sizeof(struct iii_success), fields_success, 2, false};

static const struct table_field fields_env_value[] = {
    {"key", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_env_value, key), offsetof(struct iii_env_value, key_len), NULL},
    {"value", KIND_TEXT, FORM_ONE, IN_BODY, true, false, offsetof(struct iii_env_value, value), offsetof(struct iii_env_value, value_len), NULL},
    {"exists", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_env_value, exists), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_env_value, warnings), offsetof(struct iii_env_value, warnings_count), NULL},
};
const struct table_type iii_type_env_value = {"EnvValue", sizeof(struct iii_env_value), fields_env_value, 4, false};

static const struct table_field fields_env_set[] = {
    {"set", KIND_TEXT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_env_set, set), offsetof(struct iii_env_set, set_count), NULL},
    {"count", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_env_set, count), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_env_set, warnings), offsetof(struct iii_env_set, warnings_count), NULL},
};
const struct table_type iii_type_env_set = {"EnvSet", sizeof(struct iii_env_set), fields_env_set, 3, false};

static const struct table_field fields_env_list[] = {
    {"vars", KIND_TEXT, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_env_list, vars), offsetof(struct iii_env_list, vars_count), NULL},
    {"count", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_env_list, count), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_env_list, warnings), offsetof(struct iii_env_list, warnings_count), NULL},
};
const struct table_type iii_type_env_list = {"EnvList", sizeof(struct iii_env_list), fields_env_list, 3, false};

static const struct table_field fields_env_deleted[] = {
    {"deleted", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_env_deleted, deleted), offsetof(struct iii_env_deleted, deleted_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_env_deleted, warnings), offsetof(struct iii_env_deleted, warnings_count), NULL},
};
const struct table_type iii_type_env_deleted = {"EnvDeleted", sizeof(struct iii_env_deleted), fields_env_deleted, 2, false};

static const struct table_field fields_git_file[] = {
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_file, status), offsetof(struct iii_git_file, status_len), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_file, path), offsetof(struct iii_git_file, path_len), NULL},
};
const struct table_type iii_type_git_file = {"GitFile", sizeof(struct iii_git_file), fields_git_file, 2, false};

static const struct table_field fields_git_status[] = {
    {"branch", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_status, branch), offsetof(struct iii_git_status, branch_len), NULL},
    {"clean", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_status, clean), 0, NULL},
    {"files", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_git_status, files), offsetof(struct iii_git_status, files_count), &iii_type_git_file},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_git_status, warnings), offsetof(struct iii_git_status, warnings_count), NULL},
};
const struct table_type iii_type_git_status = {"GitStatus", sizeof(struct iii_git_status), fields_git_status, 4, false};

static const struct table_field fields_git_diff[] = {
    {"diff", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_diff, diff), offsetof(struct iii_git_diff, diff_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_git_diff, warnings), offsetof(struct iii_git_diff, warnings_count), NULL},
};
const struct table_type iii_type_git_diff = {"GitDiff", sizeof(struct iii_git_diff), fields_git_diff, 2, false};

static const struct table_field fields_git_log_entry[] = {
    {"hash", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_log_entry, hash), offsetof(struct iii_git_log_entry, hash_len), NULL},
    {"message", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_log_entry, message), offsetof(struct iii_git_log_entry, message_len), NULL},
    {"author", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_log_entry, author), offsetof(struct iii_git_log_entry, author_len), NULL},
    {"date", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_log_entry, date), offsetof(struct iii_git_log_entry, date_len), NULL},
};
const struct table_type iii_type_git_log_entry = {"GitLogEntry", sizeof(struct iii_git_log_entry), fields_git_log_entry, 4, false};

static const struct table_field fields_git_log[] = {
    {"entries", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_git_log, entries), offsetof(struct iii_git_log, entries_count), &iii_type_git_log_entry},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_git_log, warnings), offsetof(struct iii_git_log, warnings_count), NULL},
};
const struct table_type iii_type_git_log = {"GitLog", sizeof(struct iii_git_log), fields_git_log, 2, false};

static const struct table_field fields_git_branches[] = {
    {"branches", KIND_TEXT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_git_branches, branches), offsetof(struct iii_git_branches, branches_count), NULL},
    {"current", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_git_branches, current), offsetof(struct iii_git_branches, current_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_branches, error), offsetof(struct iii_git_branches, error_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_git_branches, warnings), offsetof(struct iii_git_branches, warnings_count), NULL},
};
const struct table_type iii_type_git_branches = {"GitBranches", sizeof(struct iii_git_branches), fields_git_branches, 4, false};

static const struct table_field fields_process_info[] = {
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_info, pid), 0, NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_info, user), offsetof(struct iii_process_info, user_len), NULL},
    {"cpu", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_info, cpu), offsetof(struct iii_process_info, cpu_len), NULL},
    {"memory", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_info, memory), offsetof(struct iii_process_info, memory_len), NULL},
    {"command", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_info, command), offsetof(struct iii_process_info, command_len), NULL},
};
const struct table_type iii_type_process_info = {"ProcessInfo", sizeof(struct iii_process_info), fields_process_info, 5, false};

static const struct table_field fields_process_list[] = {
    {"processes", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_process_list, processes), offsetof(struct iii_process_list, processes_count), &iii_type_process_info},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_process_list, warnings), offsetof(struct iii_process_list, warnings_count), NULL},
};
const struct table_type iii_type_process_list = {"ProcessList", sizeof(struct iii_process_list), fields_process_list, 2, false};

static const struct table_field fields_process_top_info[] = {
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_top_info, pid), 0, NULL},
    {"cpu", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_top_info, cpu), offsetof(struct iii_process_top_info, cpu_len), NULL},
    {"mem", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_top_info, mem), offsetof(struct iii_process_top_info, mem_len), NULL},
    {"vsz", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_top_info, vsz), 0, NULL},
    {"rss", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_top_info, rss), 0, NULL},
    {"command", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_top_info, command), offsetof(struct iii_process_top_info, command_len), NULL},
};
const struct table_type iii_type_process_top_info = {"ProcessTopInfo", sizeof(struct iii_process_top_info), fields_process_top_info, 6, false};

static const struct table_field fields_process_top[] = {
    {"processes", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_process_top, processes), offsetof(struct iii_process_top, processes_count), &iii_type_process_top_info},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_process_top, warnings), offsetof(struct iii_process_top, warnings_count), NULL},
};
const struct table_type iii_type_process_top = {"ProcessTop", sizeof(struct iii_process_top), fields_process_top, 2, false};

static const struct table_field fields_process_killed[] = {
    {"killed", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_killed, killed), 0, NULL},
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_process_killed, signal), offsetof(struct iii_process_killed, signal_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_process_killed, warnings), offsetof(struct iii_process_killed, warnings_count), NULL},
};
const struct table_type iii_type_process_killed = {"ProcessKilled", sizeof(struct iii_process_killed), fields_process_killed, 3, false};

static const struct table_field fields_snapshot_info[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, id), offsetof(struct iii_snapshot_info, id_len), NULL},
    {"snapshotId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, snapshot_id), offsetof(struct iii_snapshot_info, snapshot_id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, sandbox_id), offsetof(struct iii_snapshot_info, sandbox_id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, name), offsetof(struct iii_snapshot_info, name_len), NULL},
    {"imageId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, image_id), offsetof(struct iii_snapshot_info, image_id_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, size), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_snapshot_info, created_at), 0, NULL},
    {"config", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_snapshot_info, config), 0, &iii_type_sandbox_config},
    {"entrypoint", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_snapshot_info, entrypoint), offsetof(struct iii_snapshot_info, entrypoint_count), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_snapshot_info, metadata), offsetof(struct iii_snapshot_info, metadata_count), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_snapshot_info, tenant), offsetof(struct iii_snapshot_info, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_snapshot_info, warnings), offsetof(struct iii_snapshot_info, warnings_count), NULL},
};
const struct table_type iii_type_snapshot_info = {"SnapshotInfo", sizeof(struct iii_snapshot_info), fields_snapshot_info, 12, false};

static const struct table_field fields_snapshot_list[] = {
    {"snapshots", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_snapshot_list, snapshots), offsetof(struct iii_snapshot_list, snapshots_count), &iii_type_snapshot_info},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_snapshot_list, warnings), offsetof(struct iii_snapshot_list, warnings_count), NULL},
};
const struct table_type iii_type_snapshot_list = {"SnapshotList", sizeof(struct iii_snapshot_list), fields_snapshot_list, 2, false};

static const struct table_field fields_deleted[] = {
    {"deleted", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_deleted, deleted), offsetof(struct iii_deleted, deleted_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_deleted, warnings), offsetof(struct iii_deleted, warnings_count), NULL},
};
const struct table_type iii_type_deleted = {"Deleted", sizeof(struct iii_deleted), fields_deleted, 2, false};

static const struct table_field fields_image[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image, name), offsetof(struct iii_image, name_len), NULL},
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image, id), offsetof(struct iii_image, id_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image, size), 0, NULL},
    {"layers", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image, layers), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image, created_at), 0, NULL},
    {"source", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image, source), offsetof(struct iii_image, source_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image, tenant), offsetof(struct iii_image, tenant_len), NULL},
    {"signedBy", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image, signed_by), offsetof(struct iii_image, signed_by_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_image, warnings), offsetof(struct iii_image, warnings_count), NULL},
};
const struct table_type iii_type_image = {"Image", sizeof(struct iii_image), fields_image, 9, false};

static const struct table_field fields_image_verification[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_verification, name), offsetof(struct iii_image_verification, name_len), NULL},
    {"verified", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_verification, verified), 0, NULL},
    {"required", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_verification, required), 0, NULL},
    {"signedBy", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_verification, signed_by), offsetof(struct iii_image_verification, signed_by_len), NULL},
    {"pattern", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_verification, pattern), offsetof(struct iii_image_verification, pattern_len), NULL},
    {"digest", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_verification, digest), offsetof(struct iii_image_verification, digest_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_image_verification, warnings), offsetof(struct iii_image_verification, warnings_count), NULL},
};
const struct table_type iii_type_image_verification = {"ImageVerification", sizeof(struct iii_image_verification), fields_image_verification, 7, false};

static const struct table_field fields_image_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_event, type), offsetof(struct iii_image_event, type_len), NULL},
    {"done", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, done), 0, NULL},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, total), 0, NULL},
    {"layersDone", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, layers_done), 0, NULL},
    {"layers", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, layers), 0, NULL},
    {"image", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, image), 0, &iii_type_image},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, error), offsetof(struct iii_image_event, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, code), offsetof(struct iii_image_event, code_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_event, tenant), offsetof(struct iii_image_event, tenant_len), NULL},
};
const struct table_type iii_type_image_event = {"ImageEvent", sizeof(struct iii_image_event), fields_image_event, 10, false};

static const struct table_field fields_built_image[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image, name), offsetof(struct iii_built_image, name_len), NULL},
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image, id), offsetof(struct iii_built_image, id_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image, size), 0, NULL},
    {"layers", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image, layers), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image, created_at), 0, NULL},
    {"source", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image, source), offsetof(struct iii_built_image, source_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image, tenant), offsetof(struct iii_built_image, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_built_image, warnings), offsetof(struct iii_built_image, warnings_count), NULL},
};
const struct table_type iii_type_built_image = {"BuiltImage", sizeof(struct iii_built_image), fields_built_image, 8, false};

static const struct table_field fields_built_image_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_built_image_event, type), offsetof(struct iii_built_image_event, type_len), NULL},
    {"step", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, step), 0, NULL},
    {"steps", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, steps), 0, NULL},
    {"line", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, line), 0, NULL},
    {"text", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, text), offsetof(struct iii_built_image_event, text_len), NULL},
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, data), offsetof(struct iii_built_image_event, data_len), NULL},
    {"done", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, done), 0, NULL},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, total), 0, NULL},
    {"layersDone", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, layers_done), 0, NULL},
    {"layers", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, layers), 0, NULL},
    {"image", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, image), 0, &iii_type_built_image},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, error), offsetof(struct iii_built_image_event, error_len), NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, code), offsetof(struct iii_built_image_event, code_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_built_image_event, tenant), offsetof(struct iii_built_image_event, tenant_len), NULL},
};
const struct table_type iii_type_built_image_event = {"BuiltImageEvent", sizeof(struct iii_built_image_event), fields_built_image_event, 15, false};

static const struct table_field fields_image_layer[] = {
    {"digest", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_layer, digest), offsetof(struct iii_image_layer, digest_len), NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_layer, size), 0, NULL},
};
const struct table_type iii_type_image_layer = {"ImageLayer", sizeof(struct iii_image_layer), fields_image_layer, 2, false};

static const struct table_field fields_image_details[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_details, name), offsetof(struct iii_image_details, name_len), NULL},
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_details, id), offsetof(struct iii_image_details, id_len), NULL},
    {"source", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_details, source), offsetof(struct iii_image_details, source_len), NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_details, created_at), 0, NULL},
    {"size", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_details, size), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_details, tenant), offsetof(struct iii_image_details, tenant_len), NULL},
    {"signedBy", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_image_details, signed_by), offsetof(struct iii_image_details, signed_by_len), NULL},
    {"layers", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_image_details, layers), offsetof(struct iii_image_details, layers_count), &iii_type_image_layer},
    {"config", KIND_JSON, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_image_details, config), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_image_details, warnings), offsetof(struct iii_image_details, warnings_count), NULL},
};
const struct table_type iii_type_image_details = {"ImageDetails", sizeof(struct iii_image_details), fields_image_details, 10, false};

static const struct table_field fields_image_list[] = {
    {"images", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_image_list, images), offsetof(struct iii_image_list, images_count), &iii_type_image},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_image_list, warnings), offsetof(struct iii_image_list, warnings_count), NULL},
};
const struct table_type iii_type_image_list = {"ImageList", sizeof(struct iii_image_list), fields_image_list, 2, false};

static const struct table_field fields_sandbox_template[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_template, id), offsetof(struct iii_sandbox_template, id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_template, name), offsetof(struct iii_sandbox_template, name_len), NULL},
    {"description", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_template, description), offsetof(struct iii_sandbox_template, description_len), NULL},
    {"config", KIND_OBJECT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_template, config), 0, &iii_type_sandbox_config},
    {"builtin", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_template, builtin), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_template, created_at), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_template, tenant), offsetof(struct iii_sandbox_template, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_template, warnings), offsetof(struct iii_sandbox_template, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_template = {"SandboxTemplate", sizeof(struct iii_sandbox_template), fields_sandbox_template, 8, false};

static const struct table_field fields_template_list[] = {
    {"templates", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_template_list, templates), offsetof(struct iii_template_list, templates_count), &iii_type_sandbox_template},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_template_list, warnings), offsetof(struct iii_template_list, warnings_count), NULL},
};
const struct table_type iii_type_template_list = {"TemplateList", sizeof(struct iii_template_list), fields_template_list, 2, false};

static const struct table_field fields_port_mapping[] = {
    {"containerPort", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_port_mapping, container_port), 0, NULL},
    {"hostPort", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_port_mapping, host_port), 0, NULL},
    {"protocol", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_port_mapping, protocol), offsetof(struct iii_port_mapping, protocol_len), NULL},
    {"state", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_port_mapping, state), offsetof(struct iii_port_mapping, state_len), NULL},
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_port_mapping, url), offsetof(struct iii_port_mapping, url_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_port_mapping, warnings), offsetof(struct iii_port_mapping, warnings_count), NULL},
};
const struct table_type iii_type_port_mapping = {"PortMapping", sizeof(struct iii_port_mapping), fields_port_mapping, 6, false};

static const struct table_field fields_preview[] = {
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_preview, port), 0, NULL},
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_preview, url), offsetof(struct iii_preview, url_len), NULL},
    {"public", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_preview, public_), 0, NULL},
    {"rewriteHost", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_preview, rewrite_host), 0, NULL},
    {"signedUrl", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_preview, signed_url), offsetof(struct iii_preview, signed_url_len), NULL},
    {"expiresAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_preview, expires_at), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_preview, warnings), offsetof(struct iii_preview, warnings_count), NULL},
};
const struct table_type iii_type_preview = {"Preview", sizeof(struct iii_preview), fields_preview, 7, false};

static const struct table_field fields_listening_port[] = {
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_listening_port, port), 0, NULL},
    {"address", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_listening_port, address), offsetof(struct iii_listening_port, address_len), NULL},
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_listening_port, pid), 0, NULL},
    {"process", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_listening_port, process), offsetof(struct iii_listening_port, process_len), NULL},
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_listening_port, url), offsetof(struct iii_listening_port, url_len), NULL},
};
const struct table_type iii_type_listening_port = {"ListeningPort", sizeof(struct iii_listening_port), fields_listening_port, 5, false};

static const struct table_field fields_port_list[] = {
    {"ports", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_port_list, ports), offsetof(struct iii_port_list, ports_count), &iii_type_port_mapping},
    {"listening", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_port_list, listening), offsetof(struct iii_port_list, listening_count), &iii_type_listening_port},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_port_list, warnings), offsetof(struct iii_port_list, warnings_count), NULL},
};
const struct table_type iii_type_port_list = {"PortList", sizeof(struct iii_port_list), fields_port_list, 3, false};

static const struct table_field fields_port_removed[] = {
    {"removed", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_port_removed, removed), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_port_removed, warnings), offsetof(struct iii_port_removed, warnings_count), NULL},
};
const struct table_type iii_type_port_removed = {"PortRemoved", sizeof(struct iii_port_removed), fields_port_removed, 2, false};

static const struct table_field fields_terminal_channel[] = {
    {"channel_id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_channel, channel_id), offsetof(struct iii_terminal_channel, channel_id_len), NULL},
    {"access_key", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_channel, access_key), offsetof(struct iii_terminal_channel, access_key_len), NULL},
    {"direction", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_channel, direction), offsetof(struct iii_terminal_channel, direction_len), NULL},
};
const struct table_type iii_type_terminal_channel = {"TerminalChannel", sizeof(struct iii_terminal_channel), fields_terminal_channel, 3, false};

static const struct table_field fields_terminal_channels[] = {
    {"writer", KIND_OBJECT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_channels, writer), 0, &iii_type_terminal_channel},
    {"reader", KIND_OBJECT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_channels, reader), 0, &iii_type_terminal_channel},
};
const struct table_type iii_type_terminal_channels = {"TerminalChannels", sizeof(struct iii_terminal_channels), fields_terminal_channels, 2, false};

static const struct table_field fields_terminal_session[] = {
    {"sessionId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, session_id), offsetof(struct iii_terminal_session, session_id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, sandbox_id), offsetof(struct iii_terminal_session, sandbox_id_len), NULL},
    {"execId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, exec_id), offsetof(struct iii_terminal_session, exec_id_len), NULL},
    {"cols", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, cols), 0, NULL},
    {"rows", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, rows), 0, NULL},
    {"shell", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, shell), offsetof(struct iii_terminal_session, shell_len), NULL},
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, status), offsetof(struct iii_terminal_session, status_len), NULL},
    {"backend", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, backend), offsetof(struct iii_terminal_session, backend_len), NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, created_at), 0, NULL},
    {"channel", KIND_OBJECT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_session, channel), 0, &iii_type_terminal_channels},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_terminal_session, warnings), offsetof(struct iii_terminal_session, warnings_count), NULL},
};
const struct table_type iii_type_terminal_session = {"TerminalSession", sizeof(struct iii_terminal_session), fields_terminal_session, 11, false};

static const struct table_field fields_terminal_size[] = {
    {"cols", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_size, cols), 0, NULL},
    {"rows", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_size, rows), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_terminal_size, warnings), offsetof(struct iii_terminal_size, warnings_count), NULL},
};
const struct table_type iii_type_terminal_size = {"TerminalSize", sizeof(struct iii_terminal_size), fields_terminal_size, 3, false};

static const struct table_field fields_terminal_closed[] = {
    {"closed", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_terminal_closed, closed), offsetof(struct iii_terminal_closed, closed_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_terminal_closed, warnings), offsetof(struct iii_terminal_closed, warnings_count), NULL},
};
const struct table_type iii_type_terminal_closed = {"TerminalClosed", sizeof(struct iii_terminal_closed), fields_terminal_closed, 2, false};

static const struct table_field fields_proxy_reply[] = {
    {"statusCode", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_reply, status_code), 0, NULL},
    {"headers", KIND_TEXT, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_proxy_reply, headers), offsetof(struct iii_proxy_reply, headers_count), NULL},
    {"body", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_reply, body), offsetof(struct iii_proxy_reply, body_len), NULL},
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_reply, url), offsetof(struct iii_proxy_reply, url_len), NULL},
    {"proxiedVia", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_reply, proxied_via), offsetof(struct iii_proxy_reply, proxied_via_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_proxy_reply, warnings), offsetof(struct iii_proxy_reply, warnings_count), NULL},
};
const struct table_type iii_type_proxy_reply = {"ProxyReply", sizeof(struct iii_proxy_reply), fields_proxy_reply, 6, false};

static const struct table_field fields_proxy_config[] = {
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_config, sandbox_id), offsetof(struct iii_proxy_config, sandbox_id_len), NULL},
    {"proxyBase", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_config, proxy_base), offsetof(struct iii_proxy_config, proxy_base_len), NULL},
    {"cors", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_config, cors), offsetof(struct iii_proxy_config, cors_len), NULL},
    {"requireAuth", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_config, require_auth), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_proxy_config, timeout), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_proxy_config, warnings), offsetof(struct iii_proxy_config, warnings_count), NULL},
};
const struct table_type iii_type_proxy_config = {"ProxyConfig", sizeof(struct iii_proxy_config), fields_proxy_config, 6, false};

static const struct table_field fields_code_result[] = {
    {"output", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_code_result, output), offsetof(struct iii_code_result, output_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, false, offsetof(struct iii_code_result, error), offsetof(struct iii_code_result, error_len), NULL},
    {"executionTime", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_code_result, execution_time), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_code_result, warnings), offsetof(struct iii_code_result, warnings_count), NULL},
};
const struct table_type iii_type_code_result = {"CodeResult", sizeof(struct iii_code_result), fields_code_result, 4, false};

static const struct table_field fields_install_result[] = {
    {"output", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_install_result, output), offsetof(struct iii_install_result, output_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_install_result, warnings), offsetof(struct iii_install_result, warnings_count), NULL},
};
const struct table_type iii_type_install_result = {"InstallResult", sizeof(struct iii_install_result), fields_install_result, 2, false};

static const struct table_field fields_context[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, id), offsetof(struct iii_context, id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, sandbox_id), offsetof(struct iii_context, sandbox_id_len), NULL},
    {"language", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, language), offsetof(struct iii_context, language_len), NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, cwd), offsetof(struct iii_context, cwd_len), NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, created_at), 0, NULL},
    {"executionCount", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, execution_count), 0, NULL},
    {"state", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context, state), offsetof(struct iii_context, state_len), NULL},
    {"default", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context, default_), 0, NULL},
    {"why", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context, why), offsetof(struct iii_context, why_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_context, warnings), offsetof(struct iii_context, warnings_count), NULL},
};
const struct table_type iii_type_context = {"Context", sizeof(struct iii_context), fields_context, 10, false};

static const struct table_field fields_context_list[] = {
    {"contexts", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_context_list, contexts), offsetof(struct iii_context_list, contexts_count), &iii_type_context},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_context_list, warnings), offsetof(struct iii_context_list, warnings_count), NULL},
};
const struct table_type iii_type_context_list = {"ContextList", sizeof(struct iii_context_list), fields_context_list, 2, false};

static const struct table_field fields_rich_result[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_rich_result, type), offsetof(struct iii_rich_result, type_len), NULL},
    {"data", KIND_JSON, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_rich_result, data), 0, NULL},
};
const struct table_type iii_type_rich_result = {"RichResult", sizeof(struct iii_rich_result), fields_rich_result, 2, false};

static const struct table_field fields_context_result[] = {
    {"output", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, output), offsetof(struct iii_context_result, output_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, false, offsetof(struct iii_context_result, error), offsetof(struct iii_context_result, error_len), NULL},
    {"executionTime", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, execution_time), 0, NULL},
    {"results", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_context_result, results), offsetof(struct iii_context_result, results_count), &iii_type_rich_result},
    {"stdout", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, stdout_), offsetof(struct iii_context_result, stdout_len), NULL},
    {"stderr", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, stderr_), offsetof(struct iii_context_result, stderr_len), NULL},
    {"errorName", KIND_TEXT, FORM_ONE, IN_BODY, true, false, offsetof(struct iii_context_result, error_name), offsetof(struct iii_context_result, error_name_len), NULL},
    {"errorValue", KIND_TEXT, FORM_ONE, IN_BODY, true, false, offsetof(struct iii_context_result, error_value), offsetof(struct iii_context_result, error_value_len), NULL},
    {"traceback", KIND_TEXT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_context_result, traceback), offsetof(struct iii_context_result, traceback_count), NULL},
    {"executionCount", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, execution_count), 0, NULL},
    {"timedOut", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, timed_out), 0, NULL},
    {"truncated", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, truncated), 0, NULL},
    {"state", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_result, state), offsetof(struct iii_context_result, state_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_context_result, warnings), offsetof(struct iii_context_result, warnings_count), NULL},
};
const struct table_type iii_type_context_result = {"ContextResult", sizeof(struct iii_context_result), fields_context_result, 14, false};

static const struct table_field fields_context_event[] = {
    {"type", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_event, type), offsetof(struct iii_context_event, type_len), NULL},
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, data), offsetof(struct iii_context_event, data_len), NULL},
    {"result", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, result), 0, &iii_type_rich_result},
    {"errorName", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, error_name), offsetof(struct iii_context_event, error_name_len), NULL},
    {"errorValue", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, error_value), offsetof(struct iii_context_event, error_value_len), NULL},
    {"traceback", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_context_event, traceback), offsetof(struct iii_context_event, traceback_count), NULL},
    {"executionTime", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, execution_time), 0, NULL},
    {"executionCount", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, execution_count), 0, NULL},
    {"timedOut", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, timed_out), 0, NULL},
    {"truncated", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, truncated), 0, NULL},
    {"state", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_event, state), offsetof(struct iii_context_event, state_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_event, timestamp), 0, NULL},
};
const struct table_type iii_type_context_event = {"ContextEvent", sizeof(struct iii_context_event), fields_context_event, 12, false};

static const struct table_field fields_context_interrupted[] = {
    {"interrupted", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_interrupted, interrupted), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_context_interrupted, warnings), offsetof(struct iii_context_interrupted, warnings_count), NULL},
};
const struct table_type iii_type_context_interrupted = {"ContextInterrupted", sizeof(struct iii_context_interrupted), fields_context_interrupted, 2, false};

static const struct table_field fields_context_deleted[] = {
    {"deleted", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_context_deleted, deleted), offsetof(struct iii_context_deleted, deleted_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_context_deleted, warnings), offsetof(struct iii_context_deleted, warnings_count), NULL},
};
const struct table_type iii_type_context_deleted = {"ContextDeleted", sizeof(struct iii_context_deleted), fields_context_deleted, 2, false};

static const struct table_field fields_kernel[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_kernel, name), offsetof(struct iii_kernel, name_len), NULL},
    {"language", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_kernel, language), offsetof(struct iii_kernel, language_len), NULL},
    {"displayName", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_kernel, display_name), offsetof(struct iii_kernel, display_name_len), NULL},
};
const struct table_type iii_type_kernel = {"Kernel", sizeof(struct iii_kernel), fields_kernel, 3, false};

static const struct table_field fields_kernel_list[] = {
    {"items", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_kernel_list, items), offsetof(struct iii_kernel_list, items_count), &iii_type_kernel},
};
const struct table_type iii_type_kernel_list = {"KernelList", sizeof(struct iii_kernel_list), fields_kernel_list, 1, true};

static const struct table_field fields_sandbox_metrics[] = {
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, sandbox_id), offsetof(struct iii_sandbox_metrics, sandbox_id_len), NULL},
    {"cpuPercent", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, cpu_percent), 0, NULL},
    {"memoryUsageMb", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, memory_usage_mb), 0, NULL},
    {"memoryLimitMb", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, memory_limit_mb), 0, NULL},
    {"networkRxBytes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, network_rx_bytes), 0, NULL},
    {"networkTxBytes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, network_tx_bytes), 0, NULL},
    {"pids", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, pids), 0, NULL},
    {"cpuLimit", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, cpu_limit), 0, NULL},
    {"pidsLimit", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, pids_limit), 0, NULL},
    {"diskUsageMb", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, disk_usage_mb), 0, NULL},
    {"diskLimitMb", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, disk_limit_mb), 0, NULL},
    {"inodesLimit", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, inodes_limit), 0, NULL},
    {"openFilesLimit", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, open_files_limit), 0, NULL},
    {"shmLimitMb", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, shm_limit_mb), 0, NULL},
    {"networkLimitMbps", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, network_limit_mbps), 0, NULL},
    {"oomKills", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_metrics, oom_kills), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_metrics, warnings), offsetof(struct iii_sandbox_metrics, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_metrics = {"SandboxMetrics", sizeof(struct iii_sandbox_metrics), fields_sandbox_metrics, 17, false};

static const struct table_field fields_backend[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_backend, name), offsetof(struct iii_backend, name_len), NULL},
    {"can", KIND_JSON, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_backend, can), 0, NULL},
    {"lacks", KIND_TEXT, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_backend, lacks), offsetof(struct iii_backend, lacks_count), NULL},
};
const struct table_type iii_type_backend = {"Backend", sizeof(struct iii_backend), fields_backend, 3, false};

static const struct table_field fields_global_metrics[] = {
    {"activeSandboxes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_global_metrics, active_sandboxes), 0, NULL},
    {"totalCreated", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_global_metrics, total_created), 0, NULL},
    {"totalKilled", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_global_metrics, total_killed), 0, NULL},
    {"totalExpired", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_global_metrics, total_expired), 0, NULL},
    {"uptimeSeconds", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_global_metrics, uptime_seconds), 0, NULL},
    {"statuses", KIND_INTEGER, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_global_metrics, statuses), offsetof(struct iii_global_metrics, statuses_count), NULL},
    {"backends", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_global_metrics, backends), offsetof(struct iii_global_metrics, backends_count), &iii_type_backend},
    {"usage", KIND_NUMBER, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_global_metrics, usage), offsetof(struct iii_global_metrics, usage_count), NULL},
    {"quota", KIND_NUMBER, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_global_metrics, quota), offsetof(struct iii_global_metrics, quota_count), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_global_metrics, warnings), offsetof(struct iii_global_metrics, warnings_count), NULL},
};
const struct table_type iii_type_global_metrics = {"GlobalMetrics", sizeof(struct iii_global_metrics), fields_global_metrics, 10, false};

static const struct table_field fields_health[] = {
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_health, status), offsetof(struct iii_health, status_len), NULL},
    {"problems", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_health, problems), offsetof(struct iii_health, problems_count), NULL},
    {"missing", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_health, missing), offsetof(struct iii_health, missing_count), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_health, warnings), offsetof(struct iii_health, warnings_count), NULL},
};
const struct table_type iii_type_health = {"Health", sizeof(struct iii_health), fields_health, 4, false};

static const struct table_field fields_audit_line[] = {
    {"seq", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_line, seq), 0, NULL},
    {"time", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_line, time), 0, NULL},
    {"requestId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, request_id), offsetof(struct iii_audit_line, request_id_len), NULL},
    {"token", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, token), offsetof(struct iii_audit_line, token_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, name), offsetof(struct iii_audit_line, name_len), NULL},
    {"issuer", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, issuer), offsetof(struct iii_audit_line, issuer_len), NULL},
    {"subject", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, subject), offsetof(struct iii_audit_line, subject_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, tenant), offsetof(struct iii_audit_line, tenant_len), NULL},
    {"remote", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, remote), offsetof(struct iii_audit_line, remote_len), NULL},
    {"operation", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_line, operation), offsetof(struct iii_audit_line, operation_len), NULL},
    {"target", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, target), 0, NULL},
    {"status", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_line, status), 0, NULL},
    {"code", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, code), offsetof(struct iii_audit_line, code_len), NULL},
    {"refusedBefore", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_line, refused_before), 0, NULL},
    {"prev", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_line, prev), offsetof(struct iii_audit_line, prev_len), NULL},
    {"hash", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_line, hash), offsetof(struct iii_audit_line, hash_len), NULL},
};
const struct table_type iii_type_audit_line = {"AuditLine", sizeof(struct iii_audit_line), fields_audit_line, 16, false};

static const struct table_field fields_audit_page[] = {
    {"lines", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_audit_page, lines), offsetof(struct iii_audit_page, lines_count), &iii_type_audit_line},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_page, total), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_audit_page, warnings), offsetof(struct iii_audit_page, warnings_count), NULL},
};
const struct table_type iii_type_audit_page = {"AuditPage", sizeof(struct iii_audit_page), fields_audit_page, 3, false};

static const struct table_field fields_audit_verdict[] = {
    {"intact", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_audit_verdict, intact), 0, NULL},
    {"lines", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_verdict, lines), 0, NULL},
    {"first", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_verdict, first), 0, NULL},
    {"last", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_verdict, last), 0, NULL},
    {"head", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_verdict, head), offsetof(struct iii_audit_verdict, head_len), NULL},
    {"trimmed", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_verdict, trimmed), 0, NULL},
    {"problem", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_audit_verdict, problem), offsetof(struct iii_audit_verdict, problem_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_audit_verdict, warnings), offsetof(struct iii_audit_verdict, warnings_count), NULL},
};
const struct table_type iii_type_audit_verdict = {"AuditVerdict", sizeof(struct iii_audit_verdict), fields_audit_verdict, 8, false};

static const struct table_field fields_function_result[] = {
    {"result", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_function_result, result), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_function_result, warnings), offsetof(struct iii_function_result, warnings_count), NULL},
};
const struct table_type iii_type_function_result = {"FunctionResult", sizeof(struct iii_function_result), fields_function_result, 2, false};

static const struct table_field fields_pool_status[] = {
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_pool_status, total), 0, NULL},
    {"ready", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_pool_status, ready), 0, NULL},
    {"by_profile", KIND_INTEGER, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_pool_status, by_profile), offsetof(struct iii_pool_status, by_profile_count), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_pool_status, warnings), offsetof(struct iii_pool_status, warnings_count), NULL},
};
const struct table_type iii_type_pool_status = {"PoolStatus", sizeof(struct iii_pool_status), fields_pool_status, 4, false};

static const struct table_field fields_swept[] = {
    {"swept", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_swept, swept), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_swept, warnings), offsetof(struct iii_swept, warnings_count), NULL},
};
const struct table_type iii_type_swept = {"Swept", sizeof(struct iii_swept), fields_swept, 2, false};

static const struct table_field fields_open_api[] = {
    {"value", KIND_JSON, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_open_api, value), 0, NULL},
};
const struct table_type iii_type_open_api = {"OpenApi", sizeof(struct iii_open_api), fields_open_api, 1, true};

static const struct table_field fields_sandbox_event[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_event, id), offsetof(struct iii_sandbox_event, id_len), NULL},
    {"topic", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_event, topic), offsetof(struct iii_sandbox_event, topic_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_event, sandbox_id), offsetof(struct iii_sandbox_event, sandbox_id_len), NULL},
    {"data", KIND_JSON, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_event, data), 0, NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_event, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_event, tenant), offsetof(struct iii_sandbox_event, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_event, warnings), offsetof(struct iii_sandbox_event, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_event = {"SandboxEvent", sizeof(struct iii_sandbox_event), fields_sandbox_event, 7, false};

static const struct table_field fields_event_page[] = {
    {"events", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_event_page, events), offsetof(struct iii_event_page, events_count), &iii_type_sandbox_event},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_event_page, total), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_event_page, warnings), offsetof(struct iii_event_page, warnings_count), NULL},
};
const struct table_type iii_type_event_page = {"EventPage", sizeof(struct iii_event_page), fields_event_page, 3, false};

static const struct table_field fields_trace_record[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_trace_record, id), offsetof(struct iii_trace_record, id_len), NULL},
    {"functionId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_trace_record, function_id), offsetof(struct iii_trace_record, function_id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_trace_record, sandbox_id), offsetof(struct iii_trace_record, sandbox_id_len), NULL},
    {"duration", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_trace_record, duration), 0, NULL},
    {"status", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_trace_record, status), offsetof(struct iii_trace_record, status_len), NULL},
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_trace_record, error), offsetof(struct iii_trace_record, error_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_trace_record, timestamp), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_trace_record, tenant), offsetof(struct iii_trace_record, tenant_len), NULL},
};
const struct table_type iii_type_trace_record = {"TraceRecord", sizeof(struct iii_trace_record), fields_trace_record, 8, false};

static const struct table_field fields_trace_page[] = {
    {"traces", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_trace_page, traces), offsetof(struct iii_trace_page, traces_count), &iii_type_trace_record},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_trace_page, total), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_trace_page, warnings), offsetof(struct iii_trace_page, warnings_count), NULL},
};
const struct table_type iii_type_trace_page = {"TracePage", sizeof(struct iii_trace_page), fields_trace_page, 3, false};

static const struct table_field fields_observability_metrics[] = {
    {"totalRequests", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_observability_metrics, total_requests), 0, NULL},
    {"totalErrors", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_observability_metrics, total_errors), 0, NULL},
    {"avgDuration", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_observability_metrics, avg_duration), 0, NULL},
    {"p50Duration", KIND_NUMBER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_observability_metrics, p50_duration), 0, NULL},
    {"p95Duration", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_observability_metrics, p95_duration), 0, NULL},
    {"p99Duration", KIND_NUMBER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_observability_metrics, p99_duration), 0, NULL},
    {"activeSandboxes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_observability_metrics, active_sandboxes), 0, NULL},
    {"functionCounts", KIND_INTEGER, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_observability_metrics, function_counts), offsetof(struct iii_observability_metrics, function_counts_count), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_observability_metrics, warnings), offsetof(struct iii_observability_metrics, warnings_count), NULL},
};
const struct table_type iii_type_observability_metrics = {"ObservabilityMetrics", sizeof(struct iii_observability_metrics), fields_observability_metrics, 9, false};

static const struct table_field fields_cleared[] = {
    {"cleared", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_cleared, cleared), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_cleared, warnings), offsetof(struct iii_cleared, warnings_count), NULL},
};
const struct table_type iii_type_cleared = {"Cleared", sizeof(struct iii_cleared), fields_cleared, 2, false};

static const struct table_field fields_resource_alert[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, id), offsetof(struct iii_resource_alert, id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, sandbox_id), offsetof(struct iii_resource_alert, sandbox_id_len), NULL},
    {"metric", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, metric), offsetof(struct iii_resource_alert, metric_len), NULL},
    {"threshold", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, threshold), 0, NULL},
    {"action", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, action), offsetof(struct iii_resource_alert, action_len), NULL},
    {"triggered", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, triggered), 0, NULL},
    {"lastChecked", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_resource_alert, last_checked), 0, NULL},
    {"lastTriggered", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_resource_alert, last_triggered), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_resource_alert, created_at), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_resource_alert, warnings), offsetof(struct iii_resource_alert, warnings_count), NULL},
};
const struct table_type iii_type_resource_alert = {"ResourceAlert", sizeof(struct iii_resource_alert), fields_resource_alert, 10, false};

static const struct table_field fields_alert_list[] = {
    {"alerts", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_alert_list, alerts), offsetof(struct iii_alert_list, alerts_count), &iii_type_resource_alert},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_alert_list, warnings), offsetof(struct iii_alert_list, warnings_count), NULL},
};
const struct table_type iii_type_alert_list = {"AlertList", sizeof(struct iii_alert_list), fields_alert_list, 2, false};

static const struct table_field fields_alert_event[] = {
    {"alertId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, alert_id), offsetof(struct iii_alert_event, alert_id_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, sandbox_id), offsetof(struct iii_alert_event, sandbox_id_len), NULL},
    {"metric", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, metric), offsetof(struct iii_alert_event, metric_len), NULL},
    {"value", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, value), 0, NULL},
    {"threshold", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, threshold), 0, NULL},
    {"action", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, action), offsetof(struct iii_alert_event, action_len), NULL},
    {"timestamp", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event, timestamp), 0, NULL},
};
const struct table_type iii_type_alert_event = {"AlertEvent", sizeof(struct iii_alert_event), fields_alert_event, 7, false};

static const struct table_field fields_alert_event_page[] = {
    {"events", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_alert_event_page, events), offsetof(struct iii_alert_event_page, events_count), &iii_type_alert_event},
    {"total", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_alert_event_page, total), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_alert_event_page, warnings), offsetof(struct iii_alert_event_page, warnings_count), NULL},
};
const struct table_type iii_type_alert_event_page = {"AlertEventPage", sizeof(struct iii_alert_event_page), fields_alert_event_page, 3, false};

static const struct table_field fields_sandbox_network[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_network, id), offsetof(struct iii_sandbox_network, id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_network, name), offsetof(struct iii_sandbox_network, name_len), NULL},
    {"dockerNetworkId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_network, docker_network_id), offsetof(struct iii_sandbox_network, docker_network_id_len), NULL},
    {"sandboxes", KIND_TEXT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_sandbox_network, sandboxes), offsetof(struct iii_sandbox_network, sandboxes_count), NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_network, created_at), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_network, tenant), offsetof(struct iii_sandbox_network, tenant_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_network, warnings), offsetof(struct iii_sandbox_network, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_network = {"SandboxNetwork", sizeof(struct iii_sandbox_network), fields_sandbox_network, 7, false};

static const struct table_field fields_network_list[] = {
    {"networks", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_network_list, networks), offsetof(struct iii_network_list, networks_count), &iii_type_sandbox_network},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_network_list, warnings), offsetof(struct iii_network_list, warnings_count), NULL},
};
const struct table_type iii_type_network_list = {"NetworkList", sizeof(struct iii_network_list), fields_network_list, 2, false};

static const struct table_field fields_network_connected[] = {
    {"connected", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_network_connected, connected), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_network_connected, warnings), offsetof(struct iii_network_connected, warnings_count), NULL},
};
const struct table_type iii_type_network_connected = {"NetworkConnected", sizeof(struct iii_network_connected), fields_network_connected, 2, false};

static const struct table_field fields_network_disconnected[] = {
    {"disconnected", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_network_disconnected, disconnected), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_network_disconnected, warnings), offsetof(struct iii_network_disconnected, warnings_count), NULL},
};
const struct table_type iii_type_network_disconnected = {"NetworkDisconnected", sizeof(struct iii_network_disconnected), fields_network_disconnected, 2, false};

static const struct table_field fields_egress_rule[] = {
    {"action", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_rule, action), offsetof(struct iii_egress_rule, action_len), NULL},
    {"cidr", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_rule, cidr), offsetof(struct iii_egress_rule, cidr_len), NULL},
    {"domain", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_rule, domain), offsetof(struct iii_egress_rule, domain_len), NULL},
    {"ports", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_rule, ports), 0, NULL},
};
const struct table_type iii_type_egress_rule = {"EgressRule", sizeof(struct iii_egress_rule), fields_egress_rule, 4, false};

static const struct table_field fields_egress_flow[] = {
    {"address", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_flow, address), offsetof(struct iii_egress_flow, address_len), NULL},
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_flow, port), 0, NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_flow, name), offsetof(struct iii_egress_flow, name_len), NULL},
    {"openedAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_flow, opened_at), 0, NULL},
};
const struct table_type iii_type_egress_flow = {"EgressFlow", sizeof(struct iii_egress_flow), fields_egress_flow, 4, false};

static const struct table_field fields_egress_policy[] = {
    {"default", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_policy, default_), offsetof(struct iii_egress_policy, default_len), NULL},
    {"rules", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_egress_policy, rules), offsetof(struct iii_egress_policy, rules_count), &iii_type_egress_rule},
    {"active", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_policy, active), 0, NULL},
    {"connections", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_policy, connections), 0, NULL},
    {"flows", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_egress_policy, flows), offsetof(struct iii_egress_policy, flows_count), &iii_type_egress_flow},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_egress_policy, warnings), offsetof(struct iii_egress_policy, warnings_count), NULL},
};
const struct table_type iii_type_egress_policy = {"EgressPolicy", sizeof(struct iii_egress_policy), fields_egress_policy, 6, false};

static const struct table_field fields_sandbox_volume[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_volume, id), offsetof(struct iii_sandbox_volume, id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_volume, name), offsetof(struct iii_sandbox_volume, name_len), NULL},
    {"dockerVolumeName", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_volume, docker_volume_name), offsetof(struct iii_sandbox_volume, docker_volume_name_len), NULL},
    {"mountPath", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, mount_path), offsetof(struct iii_sandbox_volume, mount_path_len), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, sandbox_id), offsetof(struct iii_sandbox_volume, sandbox_id_len), NULL},
    {"readOnly", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, read_only), 0, NULL},
    {"size", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, size), offsetof(struct iii_sandbox_volume, size_len), NULL},
    {"sizeMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, size_mb), 0, NULL},
    {"usedMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, used_mb), 0, NULL},
    {"createdAt", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_volume, created_at), 0, NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, tenant), offsetof(struct iii_sandbox_volume, tenant_len), NULL},
    {"backend", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, backend), offsetof(struct iii_sandbox_volume, backend_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_volume, warnings), offsetof(struct iii_sandbox_volume, warnings_count), NULL},
};
const struct table_type iii_type_sandbox_volume = {"SandboxVolume", sizeof(struct iii_sandbox_volume), fields_sandbox_volume, 13, false};

static const struct table_field fields_volume_list[] = {
    {"volumes", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_volume_list, volumes), offsetof(struct iii_volume_list, volumes_count), &iii_type_sandbox_volume},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_volume_list, warnings), offsetof(struct iii_volume_list, warnings_count), NULL},
};
const struct table_type iii_type_volume_list = {"VolumeList", sizeof(struct iii_volume_list), fields_volume_list, 2, false};

static const struct table_field fields_volume_attached[] = {
    {"attached", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_volume_attached, attached), 0, NULL},
    {"mountPath", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_volume_attached, mount_path), offsetof(struct iii_volume_attached, mount_path_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_volume_attached, warnings), offsetof(struct iii_volume_attached, warnings_count), NULL},
};
const struct table_type iii_type_volume_attached = {"VolumeAttached", sizeof(struct iii_volume_attached), fields_volume_attached, 3, false};

static const struct table_field fields_volume_detached[] = {
    {"detached", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_volume_detached, detached), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_volume_detached, warnings), offsetof(struct iii_volume_detached, warnings_count), NULL},
};
const struct table_type iii_type_volume_detached = {"VolumeDetached", sizeof(struct iii_volume_detached), fields_volume_detached, 2, false};

static const struct table_field fields_worker_info[] = {
    {"workerId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_info, worker_id), offsetof(struct iii_worker_info, worker_id_len), NULL},
    {"hostname", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_info, hostname), offsetof(struct iii_worker_info, hostname_len), NULL},
    {"activeSandboxes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_info, active_sandboxes), 0, NULL},
    {"maxSandboxes", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_info, max_sandboxes), 0, NULL},
    {"cpuPercent", KIND_NUMBER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_info, cpu_percent), 0, NULL},
    {"lastHeartbeat", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_info, last_heartbeat), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_worker_info, warnings), offsetof(struct iii_worker_info, warnings_count), NULL},
};
const struct table_type iii_type_worker_info = {"WorkerInfo", sizeof(struct iii_worker_info), fields_worker_info, 7, false};

static const struct table_field fields_worker_list[] = {
    {"workers", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_worker_list, workers), offsetof(struct iii_worker_list, workers_count), &iii_type_worker_info},
    {"alive", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_list, alive), 0, NULL},
    {"dead", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_list, dead), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_worker_list, warnings), offsetof(struct iii_worker_list, warnings_count), NULL},
};
const struct table_type iii_type_worker_list = {"WorkerList", sizeof(struct iii_worker_list), fields_worker_list, 4, false};

static const struct table_field fields_worker_selected[] = {
    {"workerId", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_worker_selected, worker_id), offsetof(struct iii_worker_selected, worker_id_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_worker_selected, warnings), offsetof(struct iii_worker_selected, warnings_count), NULL},
};
const struct table_type iii_type_worker_selected = {"WorkerSelected", sizeof(struct iii_worker_selected), fields_worker_selected, 2, false};

static const struct table_field fields_workers_reaped[] = {
    {"reaped", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_workers_reaped, reaped), 0, NULL},
    {"reassigned", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_workers_reaped, reassigned), 0, NULL},
    {"expired", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_workers_reaped, expired), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_workers_reaped, warnings), offsetof(struct iii_workers_reaped, warnings_count), NULL},
};
const struct table_type iii_type_workers_reaped = {"WorkersReaped", sizeof(struct iii_workers_reaped), fields_workers_reaped, 4, false};

static const struct table_field fields_workers_migrated[] = {
    {"migrated", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_workers_migrated, migrated), 0, NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_workers_migrated, warnings), offsetof(struct iii_workers_migrated, warnings_count), NULL},
};
const struct table_type iii_type_workers_migrated = {"WorkersMigrated", sizeof(struct iii_workers_migrated), fields_workers_migrated, 2, false};

static const struct table_field fields_error_body[] = {
    {"error", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_error_body, error), offsetof(struct iii_error_body, error_len), NULL},
    {"result", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_error_body, result), 0, &iii_type_exec_result},
};
const struct table_type iii_type_error_body = {"ErrorBody", sizeof(struct iii_error_body), fields_error_body, 2, false};

static const struct table_field fields_token[] = {
    {"id", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_token, id), offsetof(struct iii_token, id_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_token, name), offsetof(struct iii_token, name_len), NULL},
    {"role", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_token, role), offsetof(struct iii_token, role_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token, tenant), offsetof(struct iii_token, tenant_len), NULL},
    {"sandbox", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token, sandbox), offsetof(struct iii_token, sandbox_len), NULL},
    {"operations", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_token, operations), offsetof(struct iii_token, operations_count), NULL},
    {"created", KIND_INTEGER, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_token, created), 0, NULL},
    {"expires", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token, expires), 0, NULL},
    {"lastUsed", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token, last_used), 0, NULL},
    {"revoked", KIND_BOOLEAN, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_token, revoked), 0, NULL},
    {"revokedAt", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token, revoked_at), 0, NULL},
    {"quota", KIND_NUMBER, FORM_MAP, IN_BODY, false, false, offsetof(struct iii_token, quota), offsetof(struct iii_token, quota_count), NULL},
    {"usage", KIND_NUMBER, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_token, usage), offsetof(struct iii_token, usage_count), NULL},
    {"secret", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token, secret), offsetof(struct iii_token, secret_len), NULL},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_token, warnings), offsetof(struct iii_token, warnings_count), NULL},
};
const struct table_type iii_type_token = {"Token", sizeof(struct iii_token), fields_token, 15, false};

static const struct table_field fields_token_list[] = {
    {"tokens", KIND_OBJECT, FORM_LIST, IN_BODY, false, false, offsetof(struct iii_token_list, tokens), offsetof(struct iii_token_list, tokens_count), &iii_type_token},
    {"warnings", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_token_list, warnings), offsetof(struct iii_token_list, warnings_count), NULL},
};
const struct table_type iii_type_token_list = {"TokenList", sizeof(struct iii_token_list), fields_token_list, 2, false};

static const struct table_field fields_sandbox_create_service_ready[] = {
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service_ready, port), 0, NULL},
    {"http", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service_ready, http), offsetof(struct iii_sandbox_create_service_ready, http_len), NULL},
    {"command", KIND_COMMAND, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service_ready, command), 0, NULL},
    {"intervalMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service_ready, interval_ms), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service_ready, timeout), 0, NULL},
};
const struct table_type iii_type_sandbox_create_service_ready = {"SandboxCreateServiceReady", sizeof(struct iii_sandbox_create_service_ready), fields_sandbox_create_service_ready, 5, false};

static const struct table_field fields_sandbox_create_service[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_create_service, name), offsetof(struct iii_sandbox_create_service, name_len), NULL},
    {"command", KIND_COMMAND, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_sandbox_create_service, command), 0, NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, env), offsetof(struct iii_sandbox_create_service, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, user), offsetof(struct iii_sandbox_create_service, user_len), NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, cwd), offsetof(struct iii_sandbox_create_service, cwd_len), NULL},
    {"ready", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, ready), 0, &iii_type_sandbox_create_service_ready},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, restart), offsetof(struct iii_sandbox_create_service, restart_len), NULL},
    {"maxRestarts", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, max_restarts), 0, NULL},
    {"backoffMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, backoff_ms), 0, NULL},
    {"stopTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, stop_timeout), 0, NULL},
    {"dependsOn", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_create_service, depends_on), offsetof(struct iii_sandbox_create_service, depends_on_count), NULL},
};
const struct table_type iii_type_sandbox_create_service = {"SandboxCreateService", sizeof(struct iii_sandbox_create_service), fields_sandbox_create_service, 11, false};

static const struct table_field fields_fs_move_move[] = {
    {"from", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_fs_move_move, from), offsetof(struct iii_fs_move_move, from_len), NULL},
    {"to", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_fs_move_move, to), offsetof(struct iii_fs_move_move, to_len), NULL},
};
const struct table_type iii_type_fs_move_move = {"FsMoveMove", sizeof(struct iii_fs_move_move), fields_fs_move_move, 2, false};

static const struct table_field fields_template_create_config_service_ready[] = {
    {"port", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service_ready, port), 0, NULL},
    {"http", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service_ready, http), offsetof(struct iii_template_create_config_service_ready, http_len), NULL},
    {"command", KIND_COMMAND, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service_ready, command), 0, NULL},
    {"intervalMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service_ready, interval_ms), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service_ready, timeout), 0, NULL},
};
const struct table_type iii_type_template_create_config_service_ready = {"TemplateCreateConfigServiceReady", sizeof(struct iii_template_create_config_service_ready), fields_template_create_config_service_ready, 5, false};

static const struct table_field fields_template_create_config_service[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_template_create_config_service, name), offsetof(struct iii_template_create_config_service, name_len), NULL},
    {"command", KIND_COMMAND, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_template_create_config_service, command), 0, NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, env), offsetof(struct iii_template_create_config_service, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, user), offsetof(struct iii_template_create_config_service, user_len), NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, cwd), offsetof(struct iii_template_create_config_service, cwd_len), NULL},
    {"ready", KIND_OBJECT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, ready), 0, &iii_type_template_create_config_service_ready},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, restart), offsetof(struct iii_template_create_config_service, restart_len), NULL},
    {"maxRestarts", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, max_restarts), 0, NULL},
    {"backoffMs", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, backoff_ms), 0, NULL},
    {"stopTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, stop_timeout), 0, NULL},
    {"dependsOn", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_template_create_config_service, depends_on), offsetof(struct iii_template_create_config_service, depends_on_count), NULL},
};
const struct table_type iii_type_template_create_config_service = {"TemplateCreateConfigService", sizeof(struct iii_template_create_config_service), fields_template_create_config_service, 11, false};

static const struct table_field fields_template_create_config[] = {
    {"image", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_template_create_config, image), offsetof(struct iii_template_create_config, image_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, name), offsetof(struct iii_template_create_config, name_len), NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, timeout), 0, NULL},
    {"memory", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, memory), 0, NULL},
    {"cpu", KIND_NUMBER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, cpu), 0, NULL},
    {"diskMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, disk_mb), 0, NULL},
    {"inodes", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, inodes), 0, NULL},
    {"pids", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, pids), 0, NULL},
    {"openFiles", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, open_files), 0, NULL},
    {"shmMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, shm_mb), 0, NULL},
    {"netMbps", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, net_mbps), 0, NULL},
    {"idleTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, idle_timeout), 0, NULL},
    {"onTimeout", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, on_timeout), offsetof(struct iii_template_create_config, on_timeout_len), NULL},
    {"onIdle", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, on_idle), offsetof(struct iii_template_create_config, on_idle_len), NULL},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, restart), offsetof(struct iii_template_create_config, restart_len), NULL},
    {"autoResume", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, auto_resume), 0, NULL},
    {"network", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, network), 0, NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_template_create_config, env), offsetof(struct iii_template_create_config, env_count), NULL},
    {"seccomp", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, seccomp), offsetof(struct iii_template_create_config, seccomp_len), NULL},
    {"workdir", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_config, workdir), offsetof(struct iii_template_create_config, workdir_len), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_template_create_config, metadata), offsetof(struct iii_template_create_config, metadata_count), NULL},
    {"services", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_template_create_config, services), offsetof(struct iii_template_create_config, services_count), &iii_type_template_create_config_service},
    {"entrypoint", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_template_create_config, entrypoint), offsetof(struct iii_template_create_config, entrypoint_count), NULL},
};
const struct table_type iii_type_template_create_config = {"TemplateCreateConfig", sizeof(struct iii_template_create_config), fields_template_create_config, 23, false};

static const struct table_field fields_egress_set_rule[] = {
    {"action", KIND_TEXT, FORM_ONE, IN_BODY, false, false, offsetof(struct iii_egress_set_rule, action), offsetof(struct iii_egress_set_rule, action_len), NULL},
    {"cidr", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_set_rule, cidr), offsetof(struct iii_egress_set_rule, cidr_len), NULL},
    {"domain", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_set_rule, domain), offsetof(struct iii_egress_set_rule, domain_len), NULL},
    {"ports", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_set_rule, ports), 0, NULL},
};
const struct table_type iii_type_egress_set_rule = {"EgressSetRule", sizeof(struct iii_egress_set_rule), fields_egress_set_rule, 4, false};

static const struct table_field fields_sandbox_create_options[] = {
    {"image", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, image), offsetof(struct iii_sandbox_create_options, image_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, name), offsetof(struct iii_sandbox_create_options, name_len), NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, timeout), 0, NULL},
    {"memory", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, memory), 0, NULL},
    {"cpu", KIND_NUMBER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, cpu), 0, NULL},
    {"diskMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, disk_mb), 0, NULL},
    {"inodes", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, inodes), 0, NULL},
    {"pids", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, pids), 0, NULL},
    {"openFiles", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, open_files), 0, NULL},
    {"shmMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, shm_mb), 0, NULL},
    {"netMbps", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, net_mbps), 0, NULL},
    {"idleTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, idle_timeout), 0, NULL},
    {"onTimeout", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, on_timeout), offsetof(struct iii_sandbox_create_options, on_timeout_len), NULL},
    {"onIdle", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, on_idle), offsetof(struct iii_sandbox_create_options, on_idle_len), NULL},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, restart), offsetof(struct iii_sandbox_create_options, restart_len), NULL},
    {"autoResume", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, auto_resume), 0, NULL},
    {"network", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, network), 0, NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, env), offsetof(struct iii_sandbox_create_options, env_count), NULL},
    {"seccomp", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, seccomp), offsetof(struct iii_sandbox_create_options, seccomp_len), NULL},
    {"workdir", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, workdir), offsetof(struct iii_sandbox_create_options, workdir_len), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, metadata), offsetof(struct iii_sandbox_create_options, metadata_count), NULL},
    {"services", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, services), offsetof(struct iii_sandbox_create_options, services_count), &iii_type_sandbox_create_service},
    {"entrypoint", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, entrypoint), offsetof(struct iii_sandbox_create_options, entrypoint_count), NULL},
    {"backend", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, backend), offsetof(struct iii_sandbox_create_options, backend_len), NULL},
    {"template", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, template_), offsetof(struct iii_sandbox_create_options, template_len), NULL},
    {"ifExists", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_create_options, if_exists), offsetof(struct iii_sandbox_create_options, if_exists_len), NULL},
};
const struct table_type iii_type_sandbox_create_options = {"sandbox_create_options", sizeof(struct iii_sandbox_create_options), fields_sandbox_create_options, 26, false};

static const struct table_field fields_sandbox_list_options[] = {
    {"status", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_sandbox_list_options, status), offsetof(struct iii_sandbox_list_options, status_len), NULL},
    {"page", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_sandbox_list_options, page), 0, NULL},
    {"pageSize", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_sandbox_list_options, page_size), 0, NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_QUERY, true, true, offsetof(struct iii_sandbox_list_options, metadata), offsetof(struct iii_sandbox_list_options, metadata_count), NULL},
    {"parentId", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_sandbox_list_options, parent_id), offsetof(struct iii_sandbox_list_options, parent_id_len), NULL},
};
const struct table_type iii_type_sandbox_list_options = {"sandbox_list_options", sizeof(struct iii_sandbox_list_options), fields_sandbox_list_options, 5, false};

static const struct table_field fields_sandbox_stop_options[] = {
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_stop_options, timeout), 0, NULL},
};
const struct table_type iii_type_sandbox_stop_options = {"sandbox_stop_options", sizeof(struct iii_sandbox_stop_options), fields_sandbox_stop_options, 1, false};

static const struct table_field fields_sandbox_restart_options[] = {
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_restart_options, timeout), 0, NULL},
};
const struct table_type iii_type_sandbox_restart_options = {"sandbox_restart_options", sizeof(struct iii_sandbox_restart_options), fields_sandbox_restart_options, 1, false};

static const struct table_field fields_sandbox_policy_options[] = {
    {"idleTimeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_policy_options, idle_timeout), 0, NULL},
    {"onTimeout", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_policy_options, on_timeout), offsetof(struct iii_sandbox_policy_options, on_timeout_len), NULL},
    {"onIdle", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_policy_options, on_idle), offsetof(struct iii_sandbox_policy_options, on_idle_len), NULL},
    {"restart", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_policy_options, restart), offsetof(struct iii_sandbox_policy_options, restart_len), NULL},
    {"autoResume", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_policy_options, auto_resume), 0, NULL},
};
const struct table_type iii_type_sandbox_policy_options = {"sandbox_policy_options", sizeof(struct iii_sandbox_policy_options), fields_sandbox_policy_options, 5, false};

static const struct table_field fields_sandbox_resize_options[] = {
    {"memory", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_resize_options, memory), 0, NULL},
    {"cpu", KIND_NUMBER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_resize_options, cpu), 0, NULL},
    {"pids", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_resize_options, pids), 0, NULL},
    {"diskMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_resize_options, disk_mb), 0, NULL},
};
const struct table_type iii_type_sandbox_resize_options = {"sandbox_resize_options", sizeof(struct iii_sandbox_resize_options), fields_sandbox_resize_options, 4, false};

static const struct table_field fields_sandbox_label_options[] = {
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_sandbox_label_options, metadata), offsetof(struct iii_sandbox_label_options, metadata_count), NULL},
    {"remove", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_sandbox_label_options, remove), offsetof(struct iii_sandbox_label_options, remove_count), NULL},
};
const struct table_type iii_type_sandbox_label_options = {"sandbox_label_options", sizeof(struct iii_sandbox_label_options), fields_sandbox_label_options, 2, false};

static const struct table_field fields_sandbox_clone_options[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_clone_options, name), offsetof(struct iii_sandbox_clone_options, name_len), NULL},
};
const struct table_type iii_type_sandbox_clone_options = {"sandbox_clone_options", sizeof(struct iii_sandbox_clone_options), fields_sandbox_clone_options, 1, false};

static const struct table_field fields_sandbox_fork_options[] = {
    {"count", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_fork_options, count), 0, NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_sandbox_fork_options, name), offsetof(struct iii_sandbox_fork_options, name_len), NULL},
};
const struct table_type iii_type_sandbox_fork_options = {"sandbox_fork_options", sizeof(struct iii_sandbox_fork_options), fields_sandbox_fork_options, 2, false};

static const struct table_field fields_cmd_run_options[] = {
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_options, timeout), 0, NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_options, cwd), offsetof(struct iii_cmd_run_options, cwd_len), NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_cmd_run_options, env), offsetof(struct iii_cmd_run_options, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_options, user), offsetof(struct iii_cmd_run_options, user_len), NULL},
    {"stdin", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_options, stdin_), offsetof(struct iii_cmd_run_options, stdin_len), NULL},
    {"stdinEncoding", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_options, stdin_encoding), offsetof(struct iii_cmd_run_options, stdin_encoding_len), NULL},
};
const struct table_type iii_type_cmd_run_options = {"cmd_run_options", sizeof(struct iii_cmd_run_options), fields_cmd_run_options, 6, false};

static const struct table_field fields_cmd_run_stream_options[] = {
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_stream_options, timeout), 0, NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_stream_options, cwd), offsetof(struct iii_cmd_run_stream_options, cwd_len), NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_cmd_run_stream_options, env), offsetof(struct iii_cmd_run_stream_options, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_stream_options, user), offsetof(struct iii_cmd_run_stream_options, user_len), NULL},
    {"stdin", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_stream_options, stdin_), offsetof(struct iii_cmd_run_stream_options, stdin_len), NULL},
    {"stdinEncoding", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_run_stream_options, stdin_encoding), offsetof(struct iii_cmd_run_stream_options, stdin_encoding_len), NULL},
};
const struct table_type iii_type_cmd_run_stream_options = {"cmd_run_stream_options", sizeof(struct iii_cmd_run_stream_options), fields_cmd_run_stream_options, 6, false};

static const struct table_field fields_cmd_background_options[] = {
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_background_options, cwd), offsetof(struct iii_cmd_background_options, cwd_len), NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_cmd_background_options, env), offsetof(struct iii_cmd_background_options, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_background_options, user), offsetof(struct iii_cmd_background_options, user_len), NULL},
};
const struct table_type iii_type_cmd_background_options = {"cmd_background_options", sizeof(struct iii_cmd_background_options), fields_cmd_background_options, 3, false};

static const struct table_field fields_cmd_background_logs_options[] = {
    {"cursor", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_cmd_background_logs_options, cursor), 0, NULL},
};
const struct table_type iii_type_cmd_background_logs_options = {"cmd_background_logs_options", sizeof(struct iii_cmd_background_logs_options), fields_cmd_background_logs_options, 1, false};

static const struct table_field fields_cmd_interrupt_options[] = {
    {"pid", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_cmd_interrupt_options, pid), 0, NULL},
};
const struct table_type iii_type_cmd_interrupt_options = {"cmd_interrupt_options", sizeof(struct iii_cmd_interrupt_options), fields_cmd_interrupt_options, 1, false};

static const struct table_field fields_exec_start_options[] = {
    {"execId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_start_options, exec_id), offsetof(struct iii_exec_start_options, exec_id_len), NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_start_options, cwd), offsetof(struct iii_exec_start_options, cwd_len), NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_exec_start_options, env), offsetof(struct iii_exec_start_options, env_count), NULL},
    {"user", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_start_options, user), offsetof(struct iii_exec_start_options, user_len), NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_start_options, timeout), 0, NULL},
    {"stdin", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_start_options, stdin_), 0, NULL},
};
const struct table_type iii_type_exec_start_options = {"exec_start_options", sizeof(struct iii_exec_start_options), fields_exec_start_options, 6, false};

static const struct table_field fields_exec_output_options[] = {
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_exec_output_options, offset), 0, NULL},
    {"follow", KIND_BOOLEAN, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_exec_output_options, follow), 0, NULL},
    {"encoding", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_exec_output_options, encoding), offsetof(struct iii_exec_output_options, encoding_len), NULL},
};
const struct table_type iii_type_exec_output_options = {"exec_output_options", sizeof(struct iii_exec_output_options), fields_exec_output_options, 3, false};

static const struct table_field fields_exec_input_options[] = {
    {"data", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_input_options, data), offsetof(struct iii_exec_input_options, data_len), NULL},
    {"encoding", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_input_options, encoding), offsetof(struct iii_exec_input_options, encoding_len), NULL},
    {"close", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_input_options, close), 0, NULL},
};
const struct table_type iii_type_exec_input_options = {"exec_input_options", sizeof(struct iii_exec_input_options), fields_exec_input_options, 3, false};

static const struct table_field fields_exec_signal_options[] = {
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_exec_signal_options, signal), offsetof(struct iii_exec_signal_options, signal_len), NULL},
};
const struct table_type iii_type_exec_signal_options = {"exec_signal_options", sizeof(struct iii_exec_signal_options), fields_exec_signal_options, 1, false};

static const struct table_field fields_queue_submit_options[] = {
    {"maxRetries", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_submit_options, max_retries), 0, NULL},
    {"retryOnExit", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_submit_options, retry_on_exit), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_queue_submit_options, timeout), 0, NULL},
};
const struct table_type iii_type_queue_submit_options = {"queue_submit_options", sizeof(struct iii_queue_submit_options), fields_queue_submit_options, 3, false};

static const struct table_field fields_queue_list_options[] = {
    {"status", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_queue_list_options, status), offsetof(struct iii_queue_list_options, status_len), NULL},
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_queue_list_options, limit), 0, NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_queue_list_options, offset), 0, NULL},
};
const struct table_type iii_type_queue_list_options = {"queue_list_options", sizeof(struct iii_queue_list_options), fields_queue_list_options, 3, false};

static const struct table_field fields_queue_dlq_options[] = {
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_queue_dlq_options, limit), 0, NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_queue_dlq_options, offset), 0, NULL},
};
const struct table_type iii_type_queue_dlq_options = {"queue_dlq_options", sizeof(struct iii_queue_dlq_options), fields_queue_dlq_options, 2, false};

static const struct table_field fields_fs_list_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_list_options, path), offsetof(struct iii_fs_list_options, path_len), NULL},
    {"limit", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_list_options, limit), 0, NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_list_options, offset), 0, NULL},
};
const struct table_type iii_type_fs_list_options = {"fs_list_options", sizeof(struct iii_fs_list_options), fields_fs_list_options, 3, false};

static const struct table_field fields_fs_search_options[] = {
    {"dir", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_search_options, dir), offsetof(struct iii_fs_search_options, dir_len), NULL},
};
const struct table_type iii_type_fs_search_options = {"fs_search_options", sizeof(struct iii_fs_search_options), fields_fs_search_options, 1, false};

static const struct table_field fields_fs_info_options[] = {
    {"paths", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_fs_info_options, paths), offsetof(struct iii_fs_info_options, paths_count), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_info_options, path), offsetof(struct iii_fs_info_options, path_len), NULL},
};
const struct table_type iii_type_fs_info_options = {"fs_info_options", sizeof(struct iii_fs_info_options), fields_fs_info_options, 2, false};

static const struct table_field fields_fs_mkdir_options[] = {
    {"paths", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_fs_mkdir_options, paths), offsetof(struct iii_fs_mkdir_options, paths_count), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_mkdir_options, path), offsetof(struct iii_fs_mkdir_options, path_len), NULL},
};
const struct table_type iii_type_fs_mkdir_options = {"fs_mkdir_options", sizeof(struct iii_fs_mkdir_options), fields_fs_mkdir_options, 2, false};

static const struct table_field fields_fs_rmdir_options[] = {
    {"paths", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_fs_rmdir_options, paths), offsetof(struct iii_fs_rmdir_options, paths_count), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_rmdir_options, path), offsetof(struct iii_fs_rmdir_options, path_len), NULL},
};
const struct table_type iii_type_fs_rmdir_options = {"fs_rmdir_options", sizeof(struct iii_fs_rmdir_options), fields_fs_rmdir_options, 2, false};

static const struct table_field fields_fs_watch_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_fs_watch_options, path), offsetof(struct iii_fs_watch_options, path_len), NULL},
    {"recursive", KIND_BOOLEAN, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_fs_watch_options, recursive), 0, NULL},
    {"exclude", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_fs_watch_options, exclude), offsetof(struct iii_fs_watch_options, exclude_len), NULL},
};
const struct table_type iii_type_fs_watch_options = {"fs_watch_options", sizeof(struct iii_fs_watch_options), fields_fs_watch_options, 3, false};

static const struct table_field fields_fs_sign_options[] = {
    {"method", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_sign_options, method), offsetof(struct iii_fs_sign_options, method_len), NULL},
    {"ttl", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_sign_options, ttl), 0, NULL},
    {"once", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_sign_options, once), 0, NULL},
    {"maxBytes", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_sign_options, max_bytes), 0, NULL},
    {"contentType", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_sign_options, content_type), offsetof(struct iii_fs_sign_options, content_type_len), NULL},
    {"format", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_fs_sign_options, format), offsetof(struct iii_fs_sign_options, format_len), NULL},
};
const struct table_type iii_type_fs_sign_options = {"fs_sign_options", sizeof(struct iii_fs_sign_options), fields_fs_sign_options, 6, false};

static const struct table_field fields_proc_kill_options[] = {
    {"signal", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proc_kill_options, signal), offsetof(struct iii_proc_kill_options, signal_len), NULL},
};
const struct table_type iii_type_proc_kill_options = {"proc_kill_options", sizeof(struct iii_proc_kill_options), fields_proc_kill_options, 1, false};

static const struct table_field fields_service_list_options[] = {
    {"wait", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_service_list_options, wait), 0, NULL},
};
const struct table_type iii_type_service_list_options = {"service_list_options", sizeof(struct iii_service_list_options), fields_service_list_options, 1, false};

static const struct table_field fields_service_logs_options[] = {
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_service_logs_options, offset), 0, NULL},
    {"follow", KIND_BOOLEAN, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_service_logs_options, follow), 0, NULL},
    {"encoding", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_service_logs_options, encoding), offsetof(struct iii_service_logs_options, encoding_len), NULL},
};
const struct table_type iii_type_service_logs_options = {"service_logs_options", sizeof(struct iii_service_logs_options), fields_service_logs_options, 3, false};

static const struct table_field fields_git_clone_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_clone_options, path), offsetof(struct iii_git_clone_options, path_len), NULL},
    {"branch", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_clone_options, branch), offsetof(struct iii_git_clone_options, branch_len), NULL},
    {"depth", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_clone_options, depth), 0, NULL},
};
const struct table_type iii_type_git_clone_options = {"git_clone_options", sizeof(struct iii_git_clone_options), fields_git_clone_options, 3, false};

static const struct table_field fields_git_status_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_git_status_options, path), offsetof(struct iii_git_status_options, path_len), NULL},
};
const struct table_type iii_type_git_status_options = {"git_status_options", sizeof(struct iii_git_status_options), fields_git_status_options, 1, false};

static const struct table_field fields_git_commit_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_commit_options, path), offsetof(struct iii_git_commit_options, path_len), NULL},
    {"all", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_commit_options, all), 0, NULL},
};
const struct table_type iii_type_git_commit_options = {"git_commit_options", sizeof(struct iii_git_commit_options), fields_git_commit_options, 2, false};

static const struct table_field fields_git_diff_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_git_diff_options, path), offsetof(struct iii_git_diff_options, path_len), NULL},
    {"staged", KIND_BOOLEAN, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_git_diff_options, staged), 0, NULL},
    {"file", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_git_diff_options, file), offsetof(struct iii_git_diff_options, file_len), NULL},
};
const struct table_type iii_type_git_diff_options = {"git_diff_options", sizeof(struct iii_git_diff_options), fields_git_diff_options, 3, false};

static const struct table_field fields_git_log_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_git_log_options, path), offsetof(struct iii_git_log_options, path_len), NULL},
    {"count", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_git_log_options, count), 0, NULL},
};
const struct table_type iii_type_git_log_options = {"git_log_options", sizeof(struct iii_git_log_options), fields_git_log_options, 2, false};

static const struct table_field fields_git_branch_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_branch_options, path), offsetof(struct iii_git_branch_options, path_len), NULL},
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_branch_options, name), offsetof(struct iii_git_branch_options, name_len), NULL},
    {"delete", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_branch_options, delete_), 0, NULL},
};
const struct table_type iii_type_git_branch_options = {"git_branch_options", sizeof(struct iii_git_branch_options), fields_git_branch_options, 3, false};

static const struct table_field fields_git_checkout_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_checkout_options, path), offsetof(struct iii_git_checkout_options, path_len), NULL},
};
const struct table_type iii_type_git_checkout_options = {"git_checkout_options", sizeof(struct iii_git_checkout_options), fields_git_checkout_options, 1, false};

static const struct table_field fields_git_push_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_push_options, path), offsetof(struct iii_git_push_options, path_len), NULL},
    {"remote", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_push_options, remote), offsetof(struct iii_git_push_options, remote_len), NULL},
    {"branch", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_push_options, branch), offsetof(struct iii_git_push_options, branch_len), NULL},
    {"force", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_push_options, force), 0, NULL},
};
const struct table_type iii_type_git_push_options = {"git_push_options", sizeof(struct iii_git_push_options), fields_git_push_options, 4, false};

static const struct table_field fields_git_pull_options[] = {
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_pull_options, path), offsetof(struct iii_git_pull_options, path_len), NULL},
    {"remote", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_pull_options, remote), offsetof(struct iii_git_pull_options, remote_len), NULL},
    {"branch", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_git_pull_options, branch), offsetof(struct iii_git_pull_options, branch_len), NULL},
};
const struct table_type iii_type_git_pull_options = {"git_pull_options", sizeof(struct iii_git_pull_options), fields_git_pull_options, 3, false};

static const struct table_field fields_template_create_options[] = {
    {"description", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_template_create_options, description), offsetof(struct iii_template_create_options, description_len), NULL},
};
const struct table_type iii_type_template_create_options = {"template_create_options", sizeof(struct iii_template_create_options), fields_template_create_options, 1, false};

static const struct table_field fields_snapshot_create_options[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_snapshot_create_options, name), offsetof(struct iii_snapshot_create_options, name_len), NULL},
};
const struct table_type iii_type_snapshot_create_options = {"snapshot_create_options", sizeof(struct iii_snapshot_create_options), fields_snapshot_create_options, 1, false};

static const struct table_field fields_snapshot_clone_options[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_snapshot_clone_options, name), offsetof(struct iii_snapshot_clone_options, name_len), NULL},
};
const struct table_type iii_type_snapshot_clone_options = {"snapshot_clone_options", sizeof(struct iii_snapshot_clone_options), fields_snapshot_clone_options, 1, false};

static const struct table_field fields_snapshot_create_short_options[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_snapshot_create_short_options, name), offsetof(struct iii_snapshot_create_short_options, name_len), NULL},
    {"comment", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_snapshot_create_short_options, comment), offsetof(struct iii_snapshot_create_short_options, comment_len), NULL},
};
const struct table_type iii_type_snapshot_create_short_options = {"snapshot_create_short_options", sizeof(struct iii_snapshot_create_short_options), fields_snapshot_create_short_options, 2, false};

static const struct table_field fields_interp_execute_options[] = {
    {"language", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_interp_execute_options, language), offsetof(struct iii_interp_execute_options, language_len), NULL},
};
const struct table_type iii_type_interp_execute_options = {"interp_execute_options", sizeof(struct iii_interp_execute_options), fields_interp_execute_options, 1, false};

static const struct table_field fields_interp_install_options[] = {
    {"manager", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_interp_install_options, manager), offsetof(struct iii_interp_install_options, manager_len), NULL},
};
const struct table_type iii_type_interp_install_options = {"interp_install_options", sizeof(struct iii_interp_install_options), fields_interp_install_options, 1, false};

static const struct table_field fields_context_create_options[] = {
    {"language", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_create_options, language), offsetof(struct iii_context_create_options, language_len), NULL},
    {"cwd", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_create_options, cwd), offsetof(struct iii_context_create_options, cwd_len), NULL},
    {"env", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_context_create_options, env), offsetof(struct iii_context_create_options, env_count), NULL},
};
const struct table_type iii_type_context_create_options = {"context_create_options", sizeof(struct iii_context_create_options), fields_context_create_options, 3, false};

static const struct table_field fields_context_execute_options[] = {
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_execute_options, timeout), 0, NULL},
};
const struct table_type iii_type_context_execute_options = {"context_execute_options", sizeof(struct iii_context_execute_options), fields_context_execute_options, 1, false};

static const struct table_field fields_context_execute_stream_options[] = {
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_context_execute_stream_options, timeout), 0, NULL},
};
const struct table_type iii_type_context_execute_stream_options = {"context_execute_stream_options", sizeof(struct iii_context_execute_stream_options), fields_context_execute_stream_options, 1, false};

static const struct table_field fields_port_expose_options[] = {
    {"hostPort", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_port_expose_options, host_port), 0, NULL},
    {"protocol", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_port_expose_options, protocol), offsetof(struct iii_port_expose_options, protocol_len), NULL},
};
const struct table_type iii_type_port_expose_options = {"port_expose_options", sizeof(struct iii_port_expose_options), fields_port_expose_options, 2, false};

static const struct table_field fields_preview_open_options[] = {
    {"public", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_preview_open_options, public_), 0, NULL},
    {"rewriteHost", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_preview_open_options, rewrite_host), 0, NULL},
    {"ttl", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_preview_open_options, ttl), 0, NULL},
};
const struct table_type iii_type_preview_open_options = {"preview_open_options", sizeof(struct iii_preview_open_options), fields_preview_open_options, 3, false};

static const struct table_field fields_proxy_request_options[] = {
    {"method", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_request_options, method), offsetof(struct iii_proxy_request_options, method_len), NULL},
    {"path", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_request_options, path), offsetof(struct iii_proxy_request_options, path_len), NULL},
    {"headers", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_request_options, headers), 0, NULL},
    {"body", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_request_options, body), offsetof(struct iii_proxy_request_options, body_len), NULL},
};
const struct table_type iii_type_proxy_request_options = {"proxy_request_options", sizeof(struct iii_proxy_request_options), fields_proxy_request_options, 4, false};

static const struct table_field fields_proxy_config_options[] = {
    {"cors", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_config_options, cors), offsetof(struct iii_proxy_config_options, cors_len), NULL},
    {"requireAuth", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_config_options, require_auth), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_proxy_config_options, timeout), 0, NULL},
};
const struct table_type iii_type_proxy_config_options = {"proxy_config_options", sizeof(struct iii_proxy_config_options), fields_proxy_config_options, 3, false};

static const struct table_field fields_terminal_create_options[] = {
    {"cols", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_terminal_create_options, cols), 0, NULL},
    {"rows", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_terminal_create_options, rows), 0, NULL},
    {"shell", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_terminal_create_options, shell), offsetof(struct iii_terminal_create_options, shell_len), NULL},
};
const struct table_type iii_type_terminal_create_options = {"terminal_create_options", sizeof(struct iii_terminal_create_options), fields_terminal_create_options, 3, false};

static const struct table_field fields_token_create_options[] = {
    {"role", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token_create_options, role), offsetof(struct iii_token_create_options, role_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token_create_options, tenant), offsetof(struct iii_token_create_options, tenant_len), NULL},
    {"sandbox", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token_create_options, sandbox), offsetof(struct iii_token_create_options, sandbox_len), NULL},
    {"operations", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_token_create_options, operations), offsetof(struct iii_token_create_options, operations_count), NULL},
    {"expires", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token_create_options, expires), 0, NULL},
    {"quota", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_token_create_options, quota), 0, NULL},
};
const struct table_type iii_type_token_create_options = {"token_create_options", sizeof(struct iii_token_create_options), fields_token_create_options, 6, false};

static const struct table_field fields_ssh_key_add_options[] = {
    {"name", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_key_add_options, name), offsetof(struct iii_ssh_key_add_options, name_len), NULL},
    {"sandbox", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_key_add_options, sandbox), offsetof(struct iii_ssh_key_add_options, sandbox_len), NULL},
    {"expires", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_ssh_key_add_options, expires), 0, NULL},
};
const struct table_type iii_type_ssh_key_add_options = {"ssh_key_add_options", sizeof(struct iii_ssh_key_add_options), fields_ssh_key_add_options, 3, false};

static const struct table_field fields_event_history_options[] = {
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_event_history_options, sandbox_id), offsetof(struct iii_event_history_options, sandbox_id_len), NULL},
    {"topic", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_event_history_options, topic), offsetof(struct iii_event_history_options, topic_len), NULL},
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_event_history_options, limit), 0, NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_event_history_options, offset), 0, NULL},
};
const struct table_type iii_type_event_history_options = {"event_history_options", sizeof(struct iii_event_history_options), fields_event_history_options, 4, false};

static const struct table_field fields_event_publish_options[] = {
    {"data", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_event_publish_options, data), 0, NULL},
};
const struct table_type iii_type_event_publish_options = {"event_publish_options", sizeof(struct iii_event_publish_options), fields_event_publish_options, 1, false};

static const struct table_field fields_observability_traces_options[] = {
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_observability_traces_options, sandbox_id), offsetof(struct iii_observability_traces_options, sandbox_id_len), NULL},
    {"functionId", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_observability_traces_options, function_id), offsetof(struct iii_observability_traces_options, function_id_len), NULL},
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_observability_traces_options, limit), 0, NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_observability_traces_options, offset), 0, NULL},
};
const struct table_type iii_type_observability_traces_options = {"observability_traces_options", sizeof(struct iii_observability_traces_options), fields_observability_traces_options, 4, false};

static const struct table_field fields_observability_clear_options[] = {
    {"before", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_observability_clear_options, before), 0, NULL},
};
const struct table_type iii_type_observability_clear_options = {"observability_clear_options", sizeof(struct iii_observability_clear_options), fields_observability_clear_options, 1, false};

static const struct table_field fields_stream_logs_options[] = {
    {"tail", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_stream_logs_options, tail), 0, NULL},
    {"follow", KIND_BOOLEAN, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_stream_logs_options, follow), 0, NULL},
};
const struct table_type iii_type_stream_logs_options = {"stream_logs_options", sizeof(struct iii_stream_logs_options), fields_stream_logs_options, 2, false};

static const struct table_field fields_stream_metrics_options[] = {
    {"interval", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_stream_metrics_options, interval), 0, NULL},
};
const struct table_type iii_type_stream_metrics_options = {"stream_metrics_options", sizeof(struct iii_stream_metrics_options), fields_stream_metrics_options, 1, false};

static const struct table_field fields_stream_events_options[] = {
    {"topic", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_stream_events_options, topic), offsetof(struct iii_stream_events_options, topic_len), NULL},
    {"ids", KIND_BOOLEAN, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_stream_events_options, ids), 0, NULL},
};
const struct table_type iii_type_stream_events_options = {"stream_events_options", sizeof(struct iii_stream_events_options), fields_stream_events_options, 2, false};

static const struct table_field fields_alert_set_options[] = {
    {"action", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_alert_set_options, action), offsetof(struct iii_alert_set_options, action_len), NULL},
};
const struct table_type iii_type_alert_set_options = {"alert_set_options", sizeof(struct iii_alert_set_options), fields_alert_set_options, 1, false};

static const struct table_field fields_alert_history_options[] = {
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_alert_history_options, limit), 0, NULL},
};
const struct table_type iii_type_alert_history_options = {"alert_history_options", sizeof(struct iii_alert_history_options), fields_alert_history_options, 1, false};

static const struct table_field fields_webhook_create_options[] = {
    {"events", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_create_options, events), offsetof(struct iii_webhook_create_options, events_count), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_create_options, sandbox_id), offsetof(struct iii_webhook_create_options, sandbox_id_len), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_webhook_create_options, metadata), offsetof(struct iii_webhook_create_options, metadata_count), NULL},
    {"description", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_create_options, description), offsetof(struct iii_webhook_create_options, description_len), NULL},
    {"enabled", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_create_options, enabled), 0, NULL},
};
const struct table_type iii_type_webhook_create_options = {"webhook_create_options", sizeof(struct iii_webhook_create_options), fields_webhook_create_options, 5, false};

static const struct table_field fields_webhook_list_options[] = {
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_webhook_list_options, sandbox_id), offsetof(struct iii_webhook_list_options, sandbox_id_len), NULL},
};
const struct table_type iii_type_webhook_list_options = {"webhook_list_options", sizeof(struct iii_webhook_list_options), fields_webhook_list_options, 1, false};

static const struct table_field fields_webhook_update_options[] = {
    {"url", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_update_options, url), offsetof(struct iii_webhook_update_options, url_len), NULL},
    {"events", KIND_TEXT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_webhook_update_options, events), offsetof(struct iii_webhook_update_options, events_count), NULL},
    {"sandboxId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_update_options, sandbox_id), offsetof(struct iii_webhook_update_options, sandbox_id_len), NULL},
    {"metadata", KIND_TEXT, FORM_MAP, IN_BODY, true, true, offsetof(struct iii_webhook_update_options, metadata), offsetof(struct iii_webhook_update_options, metadata_count), NULL},
    {"description", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_update_options, description), offsetof(struct iii_webhook_update_options, description_len), NULL},
    {"enabled", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_update_options, enabled), 0, NULL},
};
const struct table_type iii_type_webhook_update_options = {"webhook_update_options", sizeof(struct iii_webhook_update_options), fields_webhook_update_options, 6, false};

static const struct table_field fields_webhook_rotate_options[] = {
    {"overlap", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_rotate_options, overlap), 0, NULL},
};
const struct table_type iii_type_webhook_rotate_options = {"webhook_rotate_options", sizeof(struct iii_webhook_rotate_options), fields_webhook_rotate_options, 1, false};

static const struct table_field fields_webhook_deliveries_options[] = {
    {"status", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_webhook_deliveries_options, status), offsetof(struct iii_webhook_deliveries_options, status_len), NULL},
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_webhook_deliveries_options, limit), 0, NULL},
    {"offset", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_webhook_deliveries_options, offset), 0, NULL},
};
const struct table_type iii_type_webhook_deliveries_options = {"webhook_deliveries_options", sizeof(struct iii_webhook_deliveries_options), fields_webhook_deliveries_options, 3, false};

static const struct table_field fields_webhook_purge_options[] = {
    {"status", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_webhook_purge_options, status), offsetof(struct iii_webhook_purge_options, status_len), NULL},
};
const struct table_type iii_type_webhook_purge_options = {"webhook_purge_options", sizeof(struct iii_webhook_purge_options), fields_webhook_purge_options, 1, false};

static const struct table_field fields_webhook_retry_options[] = {
    {"deliveryId", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_webhook_retry_options, delivery_id), offsetof(struct iii_webhook_retry_options, delivery_id_len), NULL},
};
const struct table_type iii_type_webhook_retry_options = {"webhook_retry_options", sizeof(struct iii_webhook_retry_options), fields_webhook_retry_options, 1, false};

static const struct table_field fields_egress_set_options[] = {
    {"default", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_egress_set_options, default_), offsetof(struct iii_egress_set_options, default_len), NULL},
    {"rules", KIND_OBJECT, FORM_LIST, IN_BODY, true, true, offsetof(struct iii_egress_set_options, rules), offsetof(struct iii_egress_set_options, rules_count), &iii_type_egress_set_rule},
};
const struct table_type iii_type_egress_set_options = {"egress_set_options", sizeof(struct iii_egress_set_options), fields_egress_set_options, 2, false};

static const struct table_field fields_network_create_options[] = {
    {"driver", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_network_create_options, driver), offsetof(struct iii_network_create_options, driver_len), NULL},
};
const struct table_type iii_type_network_create_options = {"network_create_options", sizeof(struct iii_network_create_options), fields_network_create_options, 1, false};

static const struct table_field fields_volume_create_options[] = {
    {"driver", KIND_TEXT, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_volume_create_options, driver), offsetof(struct iii_volume_create_options, driver_len), NULL},
    {"sizeMb", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_volume_create_options, size_mb), 0, NULL},
};
const struct table_type iii_type_volume_create_options = {"volume_create_options", sizeof(struct iii_volume_create_options), fields_volume_create_options, 2, false};

static const struct table_field fields_volume_attach_options[] = {
    {"readOnly", KIND_BOOLEAN, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_volume_attach_options, read_only), 0, NULL},
};
const struct table_type iii_type_volume_attach_options = {"volume_attach_options", sizeof(struct iii_volume_attach_options), fields_volume_attach_options, 1, false};

static const struct table_field fields_audit_list_options[] = {
    {"operation", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, operation), offsetof(struct iii_audit_list_options, operation_len), NULL},
    {"by", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, by), offsetof(struct iii_audit_list_options, by_len), NULL},
    {"tenant", KIND_TEXT, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, tenant), offsetof(struct iii_audit_list_options, tenant_len), NULL},
    {"status", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, status), 0, NULL},
    {"since", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, since), 0, NULL},
    {"before", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, before), 0, NULL},
    {"limit", KIND_INTEGER, FORM_ONE, IN_QUERY, true, true, offsetof(struct iii_audit_list_options, limit), 0, NULL},
};
const struct table_type iii_type_audit_list_options = {"audit_list_options", sizeof(struct iii_audit_list_options), fields_audit_list_options, 7, false};

static const struct table_field fields_function_call_options[] = {
    {"payload", KIND_JSON, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_function_call_options, payload), 0, NULL},
    {"timeout", KIND_INTEGER, FORM_ONE, IN_BODY, true, true, offsetof(struct iii_function_call_options, timeout), 0, NULL},
};
const struct table_type iii_type_function_call_options = {"function_call_options", sizeof(struct iii_function_call_options), fields_function_call_options, 2, false};

const struct error_name iii_error_names[] = {
    {III_INVALID_ARGUMENT, "invalid_argument"},
    {III_UNAUTHORIZED, "unauthorized"},
    {III_FORBIDDEN, "forbidden"},
    {III_NOT_FOUND, "not_found"},
    {III_METHOD_NOT_ALLOWED, "method_not_allowed"},
    {III_CONFLICT, "conflict"},
    {III_GONE, "gone"},
    {III_PRECONDITION_FAILED, "precondition_failed"},
    {III_TOO_LARGE, "too_large"},
    {III_RANGE_NOT_SATISFIABLE, "range_not_satisfiable"},
    {III_RATE_LIMITED, "rate_limited"},
    {III_INTERNAL, "internal"},
    {III_UNSUPPORTED, "unsupported"},
    {III_BAD_GATEWAY, "bad_gateway"},
    {III_NO_CAPACITY, "no_capacity"},
    {III_TIMED_OUT, "timed_out"},
    {III_NO_SPACE, "no_space"},
    {0, NULL},
};
