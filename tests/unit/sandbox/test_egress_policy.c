/* What an egress policy allows, and what it takes. */
#include <errno.h>

#include "sandbox/net/egress_policy.h"
#include "tap.h"

static struct egress_policy *make(const char *text, struct err *err)
{
    JSON_OWNED j = json_loads(text, 0, NULL);
    struct egress_policy *p = NULL;
    if (!j)
        abort();
    (void)egress_policy_new(j, &p, err);
    return p;
}

static uint32_t address(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return a << 24 | b << 16 | c << 8 | d;
}

static int judge(const char *text, uint32_t to, uint16_t port, const char *name)
{
    struct err err = ERR_INIT;
    CLEANUP(egress_policy_free_p) struct egress_policy *p = make(text, &err);
    struct egress_policy_target t = { .address = to, .port = port, .names = &name, .n_names = name ? 1 : 0 };
    return p ? (int)egress_policy_judge(p, &t) : -1;
}

TEST(closed_ranges_stay_closed)
{
    static const uint8_t never[][4] = { { 0, 0, 0, 0 },         { 0, 1, 2, 3 },         { 127, 0, 0, 1 },
                                        { 127, 255, 255, 255 }, { 169, 254, 169, 254 }, { 169, 254, 0, 1 },
                                        { 224, 0, 0, 1 },       { 239, 255, 255, 255 }, { 240, 0, 0, 1 },
                                        { 255, 255, 255, 255 } };
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
        uint32_t a = address(never[i][0], never[i][1], never[i][2], never[i][3]);
        char rule[120];
        snprintf(rule, sizeof(rule), "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"%u.%u.%u.%u/32\"}]}", never[i][0],
                 never[i][1], never[i][2], never[i][3]);
        CHECK_INT(judge("{}", a, 80, NULL), EGRESS_POLICY_DENY);
        CHECK_INT(judge(rule, a, 80, NULL), EGRESS_POLICY_DENY);
    }
}

TEST(private_ranges_need_a_rule_of_their_own)
{
    static const uint8_t inner[][4] = { { 10, 0, 0, 0 },       { 10, 255, 255, 255 },  { 172, 16, 0, 0 },
                                        { 172, 31, 255, 255 }, { 192, 168, 0, 0 },     { 192, 168, 255, 255 },
                                        { 100, 64, 0, 0 },     { 100, 127, 255, 255 }, { 198, 18, 0, 0 },
                                        { 198, 19, 255, 255 }, { 192, 0, 0, 8 } };
    for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++) {
        uint32_t a = address(inner[i][0], inner[i][1], inner[i][2], inner[i][3]);
        char rule[120];
        snprintf(rule, sizeof(rule), "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"%u.%u.%u.%u\"}]}", inner[i][0],
                 inner[i][1], inner[i][2], inner[i][3]);
        CHECK_INT(judge("{}", a, 80, NULL), EGRESS_POLICY_DENY);
        CHECK_INT(judge("{\"rules\":[{\"action\":\"allow\"}]}", a, 80, NULL), EGRESS_POLICY_DENY);
        CHECK_INT(judge("{\"rules\":[{\"action\":\"allow\",\"cidr\":\"0.0.0.0/0\"}]}", a, 80, NULL),
                  EGRESS_POLICY_DENY);
        CHECK_INT(judge("{\"rules\":[{\"action\":\"allow\",\"domain\":\"x.y\"}]}", a, 80, "x.y"), EGRESS_POLICY_DENY);
        CHECK_INT(judge(rule, a, 80, NULL), EGRESS_POLICY_ALLOW);
    }
    static const uint8_t outer[][4] = { { 9, 255, 255, 255 }, { 11, 0, 0, 0 },       { 172, 15, 255, 255 },
                                        { 172, 32, 0, 0 },    { 100, 63, 255, 255 }, { 100, 128, 0, 0 },
                                        { 192, 167, 0, 1 },   { 223, 255, 255, 255 } };
    for (size_t i = 0; i < sizeof(outer) / sizeof(*outer); i++)
        CHECK_INT(judge("{}", address(outer[i][0], outer[i][1], outer[i][2], outer[i][3]), 80, NULL),
                  EGRESS_POLICY_ALLOW);
}

TEST(the_first_rule_that_matches_decides)
{
    const char *text = "{\"default\":\"deny\",\"rules\":[{\"action\":\"deny\",\"cidr\":\"198.51.100.7\"},"
                       "{\"action\":\"allow\",\"cidr\":\"198.51.100.0/24\",\"ports\":[443,\"8000-8002\"]}]}";
    CHECK_INT(judge(text, address(198, 51, 100, 7), 443, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, address(198, 51, 100, 8), 443, NULL), EGRESS_POLICY_ALLOW);
    CHECK_INT(judge(text, address(198, 51, 100, 8), 7999, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, address(198, 51, 100, 8), 8000, NULL), EGRESS_POLICY_ALLOW);
    CHECK_INT(judge(text, address(198, 51, 100, 8), 8002, NULL), EGRESS_POLICY_ALLOW);
    CHECK_INT(judge(text, address(198, 51, 100, 8), 8003, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, address(198, 51, 101, 8), 443, NULL), EGRESS_POLICY_DENY);
}

TEST(names)
{
    const char *text =
        "{\"default\":\"deny\",\"rules\":[{\"action\":\"deny\",\"domain\":\"bad.example.org\"},"
        "{\"action\":\"allow\",\"domain\":\"*.Example.org\"},{\"action\":\"allow\",\"domain\":\"one.test.\"}]}";
    uint32_t a = address(198, 51, 100, 7);
    struct err err = ERR_INIT;
    CHECK_INT(judge(text, a, 443, "www.example.org"), EGRESS_POLICY_NAMED);
    CHECK_INT(judge(text, a, 443, "a.b.example.org"), EGRESS_POLICY_NAMED);
    CHECK_INT(judge(text, a, 443, "bad.example.org"), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, a, 443, "example.org"), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, a, 443, "notexample.org"), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, a, 443, "one.test"), EGRESS_POLICY_NAMED);
    CHECK_INT(judge(text, a, 443, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(text, a, 80, "one.test"), EGRESS_POLICY_NAMED);
    CHECK_INT(judge(text, a, 8443, "one.test"), EGRESS_POLICY_DENY); /* without ports: 80 and 443 */
    CHECK_INT(judge("{\"rules\":[{\"action\":\"deny\",\"domain\":\"x.y\"}]}", a, 8443, "x.y"), EGRESS_POLICY_DENY);
    CLEANUP(egress_policy_free_p) struct egress_policy *p = make(text, &err);
    CHECK(egress_policy_may_resolve(p, "www.example.org") && egress_policy_may_resolve(p, "one.test"));
    CHECK(!egress_policy_may_resolve(p, "bad.example.org") && !egress_policy_may_resolve(p, "two.test"));
    CLEANUP(egress_policy_free_p)
    struct egress_policy *open = make("{\"rules\":[{\"action\":\"deny\",\"domain\":\"a.b\"}]}", &err);
    CHECK(!egress_policy_may_resolve(open, "a.b") && egress_policy_may_resolve(open, "c.b"));
}

TEST(bad_policies_are_refused)
{
    static const char *const bad[] = { "{\"default\":\"x\"}",
                                       "{\"rules\":[{\"action\":\"x\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"1.2.3\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"1.2.3.4/\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"1.2.3.4/33\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"1.2.3.4/-1\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"::/0\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"domain\":\"*.\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"domain\":\".\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"domain\":\"*..\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"domain\":\"a..b\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"domain\":\"a*.b\"}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[0]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[65536]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[\"2-1\"]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[\"1-2-3\"]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[\"1-\"]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[\"1--2\"]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[\"\"]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":[null]}]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"ports\":{}}]}" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct err err = ERR_INIT;
        CHECK(!make(bad[i], &err));
        CHECK_INT(err.code, ERR_INVALID);
    }
}

int main(void)
{
    RUN(closed_ranges_stay_closed);
    RUN(private_ranges_need_a_rule_of_their_own);
    RUN(the_first_rule_that_matches_decides);
    RUN(names);
    RUN(bad_policies_are_refused);
    return tap_done();
}
