/* The parts of an HTTP request as JSON, for functions that judge or serve it, and its refusal. Caller owns. May
 * include: base/, http/.
 */
#pragma once
#include "base/json.h"
#include "http/server.h"

json_t *request_json_headers(const struct http_req *r); /* {lower-case name: value}; of several, joined by commas */
json_t *request_json_query(const char *query);          /* {key: value}; the last of a key counts */
json_t *request_json_query_lists(const char *query);    /* {key: [value, …]} */
/* Replies {"error": text}. text needs no escaping. */
void request_json_refuse(struct http_req *r, int status, const char *text);
char *request_json_peer_address(const struct http_req *r); /* without the port; caller frees */
