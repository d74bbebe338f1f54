/* WebSocket addresses that are no rows of the table: a terminal's duplex socket
 * (GET /<prefix>/sandboxes/:id/terminal/:sessionId/ws) and the channels (/ws/channels/…). May include: base/, http/,
 * engine/, sandbox/, api/. */
#pragma once

struct api;
struct ws_upgrade;

struct ws_upgrade *ws_upgrade_new(struct api *a); /* adds its doors */
struct ws_upgrade *ws_upgrade_free(struct ws_upgrade *d);
void ws_upgrade_end_of(struct ws_upgrade *d, const char *token_id); /* closes what this token watches */
