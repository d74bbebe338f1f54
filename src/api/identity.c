#include "api/identity.h"

void identity_name(const char *subject, char ret[TOKEN_FILE_NAME_MAX + 1])
{
    size_t i = 0;
    for (; subject[i] && i < TOKEN_FILE_NAME_MAX; i++)
        ret[i] = token_file_is_name(subject[i]) ? subject[i] : '_';
    ret[i] = '\0';
}
