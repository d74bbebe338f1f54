#include "ratios.h"

#include <string.h>

static double p50_among(struct row *rows, const char *name)
{
    for (struct row *r = rows; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return rows_quantile_ms(r, 0.5);
    return 0;
}

double ratios_p50(const struct bench *b, const char *name)
{
    double ours = p50_among(b->ours, name);
    return ours > 0 ? ours : p50_among(b->peers, name);
}

void ratios_print(FILE *json, const char *what, double value, const char *goal)
{
    printf("  %-58s %8.2f   %s\n", what, value, goal);
    fprintf(json, ",\n  \"%s\": %.3f", what, value);
}

void ratios_print_all(const struct bench *b, FILE *json, const struct ratio *all)
{
    for (; all->what; all++) {
        double above = ratios_p50(b, all->above), below = ratios_p50(b, all->below);
        if (above > 0 && below > 0)
            ratios_print(json, all->what, above / below, all->goal);
    }
}
