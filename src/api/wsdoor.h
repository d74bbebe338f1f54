/* WebSocket addresses that are no rows of the table: a terminal's duplex socket
 * (GET /<prefix>/sandboxes/:id/terminal/:sessionId/ws) and the channels (/ws/channels/…). May include: base/, http/,
 * engine/, sandbox/, api/. */
#pragma once

struct api;
struct wsdoor;

struct wsdoor *wsdoor_new(struct api *a); /* adds its doors */
struct wsdoor *wsdoor_free(struct wsdoor *d);
void wsdoor_end_of(struct wsdoor *d, const char *token_id); /* closes what this token watches */
