/* The WebSockets of channels (/ws/channels/…) on the REST listener. May include: engine/, sandbox/, api/. */
#pragma once

struct api;

void ws_upgrade_add(struct api *a);
