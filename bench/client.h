/* A blocking keep-alive HTTP client for the benchmark: as little between the clock and the server as possible. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct client {
    int fd;
    char *buf; /* last answer's body, NUL-terminated */
    size_t len, cap;
    int status;
};

int client_open(struct client *c, uint16_t port); /* 0 or -errno */
void client_close(struct client *c);
/* Only sends a request; 0 or -1. What comes back is the caller's to read from fd. */
int client_send(struct client *c, const char *method, const char *path, const char *body);
/* One request; body NULL for none. Returns the status, or -1. c->buf holds the body. */
int client_call(struct client *c, const char *method, const char *path, const char *body);
/* Sends a request whose answer is a stream; returns after the first event has arrived (its time is what counts), then
 * reads to the end. *first_us: when the first event was there. */
int client_stream(struct client *c, const char *path, const char *body, int64_t *first_us);
int64_t client_now_us(void);
/* The string member `key` of the flat JSON in c->buf, into out. */
int client_member(const struct client *c, const char *key, char *out, size_t size);
