/* Commands on sandboxes that exist, one, several or all of them. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_boxes_ps;
verbs_fn cmd_boxes_list; /* the contract's list */
verbs_fn cmd_boxes_rm;
verbs_fn cmd_boxes_kill; /* the contract's rm */
verbs_fn cmd_boxes_each; /* the row's operation on every operand: pause, resume */
verbs_fn cmd_boxes_inspect;
verbs_fn cmd_boxes_update;
verbs_fn cmd_boxes_renew;
verbs_fn cmd_boxes_port;
verbs_fn cmd_boxes_info;
