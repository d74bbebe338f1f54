/* `pull` and `rmi`: images of the server. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_images_pull;
verbs_fn cmd_images_rm;
