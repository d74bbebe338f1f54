/* The version every surface shows. May include: nothing. */
#pragma once
#define API_VERSION "0.1.0"
