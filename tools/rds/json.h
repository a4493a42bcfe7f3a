/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write JSON to standard output, one value after the other. The writer keeps
 * track of commas and nesting. Inside an array, pass NULL as the key.
 */
#ifndef RDS_TOOLS_JSON_H
#define RDS_TOOLS_JSON_H

#include <stdint.h>

void json_object(const char *key);
void json_array(const char *key);
void json_end(void);

void json_string(const char *key, const char *value);
void json_unsigned(const char *key, uint64_t value);
void json_fixed(const char *key, double value, int decimals);

#endif
