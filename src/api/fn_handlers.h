/* The handlers of fn_rows. Private to fn*.c. */
#pragma once
#include "api/fn_core.h"

fn_handler fn_life_create, fn_life_stop, fn_life_list, fn_life_catalog;
fn_handler fn_exec_start, fn_run_start;
fn_handler fn_files_ls, fn_files_stat, fn_files_mkdir, fn_files_rm, fn_files_mv, fn_files_chmod;
fn_handler fn_read_start, fn_write_start;
fn_handler fn_text_grep, fn_text_sed;
