/* The parts of an HTTP request as JSON, for functions that judge or serve it. Caller owns. May include: base/, http/.
 */
#pragma once
#include "base/json.h"
#include "http/server.h"

json_t *request_json_headers(const struct http_req *r);    /* {lower-case name: value}; of several, joined by commas */
json_t *request_json_query(const char *query);             /* {key: value}; the last of a key counts */
json_t *request_json_query_lists(const char *query);       /* {key: [value, …]} */
char *request_json_peer_address(const struct http_req *r); /* without the port; caller frees */
