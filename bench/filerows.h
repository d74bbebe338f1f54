/* Rows about contents of files: bytes through the server, and the same bytes through `cat` and a loopback socket. */
#pragma once
#include "bench.h"

#define FILEROWS_MIB 256

int64_t filerows_upload(struct bench *b);
int64_t filerows_download(struct bench *b); /* what filerows_upload() has written */
/* The same without a server: a TCP connection over loopback, at whose other end `cat` writes to a file, or reads it. */
int64_t filerows_cat_in(struct bench *b);
int64_t filerows_cat_out(struct bench *b);
