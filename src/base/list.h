/* Singly linked lists: a head pointer, and items that have a member next. May include: nothing. */
#pragma once

/* Removes an item that is in the list. */
#define LIST_TAKE(head, item)              \
    do {                                   \
        __typeof__(&(head)) at_ = &(head); \
        while (*at_ != (item))             \
            at_ = &(*at_)->next;           \
        *at_ = (item)->next;               \
    } while (0)

/* Adds an item, whose next is NULL, behind the last one. */
#define LIST_APPEND(head, item)            \
    do {                                   \
        __typeof__(&(head)) at_ = &(head); \
        while (*at_)                       \
            at_ = &(*at_)->next;           \
        *at_ = (item);                     \
    } while (0)
