/* /mcp: the operations of the table as MCP tools, with the same tokens, roles, tenants, rates and audit log as REST.
 * May include: api/, mcp/. */
#pragma once

struct api;
struct mcp_door;
struct mcp_door *mcp_door_new(struct api *a);
struct mcp_door *mcp_door_free(struct mcp_door *d); /* when no request is left */
void mcp_door_end_of(struct mcp_door *d, const char *token_id);
void mcp_door_stop(struct mcp_door *d); /* the server is about to stop: idle streams end */
