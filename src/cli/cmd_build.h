/* `build`: a Dockerfile and its folder to an image of the server. May include: base/, image/, spec/, tar/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_build_run;
