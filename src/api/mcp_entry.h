/* /mcp: the operations of the table as MCP tools, with the same tokens, roles, tenants, rates and audit log as REST.
 * May include: api/, mcp/. */
#pragma once

struct api;
struct mcp_entry;
struct mcp_entry *mcp_entry_new(struct api *a);
struct mcp_entry *mcp_entry_free(struct mcp_entry *d); /* when no request is left */
void mcp_entry_end_of(struct mcp_entry *d, const char *token_id);
void mcp_entry_stop(struct mcp_entry *d); /* the server is about to stop: idle streams end */
