/* The version every surface shows. May include: nothing. */
#pragma once
#define API_VERSION III_VERSION /* the project version of meson.build */
