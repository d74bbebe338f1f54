/* The operator's bound on egress policies. */
#include "sandbox/net/egress_ceiling.h"

#include <errno.h>

#include "tap.h"

#define PUBLIC_IP  0x08080808u
#define PRIVATE_IP 0x0a000005u

static enum egress_policy_verdict judge(const char *ceiling, const char *tenant, const char *policy, uint32_t address,
                                        unsigned port, const char *name)
{
    CLEANUP(egress_ceiling_free_p) struct egress_ceiling *c = NULL;
    CLEANUP(egress_policy_free_p) struct egress_policy *p = NULL;
    JSON_OWNED json = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(egress_ceiling_new(ceiling, &c, &err), 0);
    CHECK_INT(json_read(policy, strlen(policy), &json, &err), 0);
    CHECK_INT(egress_policy_new(json, &p, &err), 0);
    const struct egress_policy_target t = { address, (uint16_t)port, &name, name ? 1 : 0 };
    return egress_ceiling_judge(c, tenant, p, &t);
}

#define OPENS_ALL "{\"rules\":[{\"action\":\"allow\",\"cidr\":\"10.0.0.0/8\"}]}"

TEST(private_ranges_need_policy_and_ceiling)
{
    CHECK_INT(judge("", "", "{}", PUBLIC_IP, 443, NULL), EGRESS_POLICY_ALLOW);
    CHECK_INT(judge("", "", OPENS_ALL, PRIVATE_IP, 443, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(OPENS_ALL, "", "{}", PRIVATE_IP, 443, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(OPENS_ALL, "", OPENS_ALL, PRIVATE_IP, 443, NULL), EGRESS_POLICY_ALLOW);
    CHECK_INT(judge(OPENS_ALL, "", OPENS_ALL, 0xa9fea9fe, 80, NULL), EGRESS_POLICY_DENY);
}

TEST(a_tenant_has_rules_of_its_own_in_addition)
{
    static const char ceiling[] = "{\"default\":\"allow\",\"tenants\":{\"a\":{\"default\":\"deny\"}}}";
    CHECK_INT(judge(ceiling, "a", "{}", PUBLIC_IP, 443, NULL), EGRESS_POLICY_DENY);
    CHECK_INT(judge(ceiling, "b", "{}", PUBLIC_IP, 443, NULL), EGRESS_POLICY_ALLOW);
    CHECK_INT(
        judge("{\"default\":\"deny\",\"tenants\":{\"a\":{\"default\":\"allow\"}}}", "a", "{}", PUBLIC_IP, 443, NULL),
        EGRESS_POLICY_DENY);
}

TEST(a_name_that_one_of_them_needs_must_be_said)
{
    static const char named[] = "{\"default\":\"deny\",\"rules\":[{\"action\":\"allow\",\"domain\":\"x.test\"}]}";
    CHECK_INT(judge(named, "", "{}", PUBLIC_IP, 443, "x.test"), EGRESS_POLICY_NAMED);
    CHECK_INT(judge("", "", named, PUBLIC_IP, 443, "x.test"), EGRESS_POLICY_NAMED);
    CHECK_INT(judge(named, "", "{}", PUBLIC_IP, 443, "y.test"), EGRESS_POLICY_DENY);
    CHECK_INT(judge(named, "", "{\"default\":\"deny\"}", PUBLIC_IP, 443, "x.test"), EGRESS_POLICY_DENY);
}

TEST(what_cannot_be_read_is_an_error)
{
    static const char *const bad[] = { "{",
                                       "[]",
                                       "1",
                                       "{\"x\":1}",
                                       "{\" default\":\"allow\"}",
                                       "{\"\":1}",
                                       "{\"default\":\"x\"}",
                                       "{\"rules\":{}}",
                                       "{\"rules\":[1]}",
                                       "{\"rules\":[{\"action\":\"allow\",\"port\":[1]}]}",
                                       "{\"tenants\":[]}",
                                       "{\"tenants\":{\"a\":1}}",
                                       "{\"tenants\":{\"a\":{\"tenants\":{}}}}" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct egress_ceiling *c = NULL;
        struct err err = ERR_INIT;
        CHECK(egress_ceiling_new(bad[i], &c, &err) < 0 && !c);
        CHECK(strstr(err.msg, "III_EGRESS_CEILING"));
    }
}

int main(void)
{
    RUN(private_ranges_need_policy_and_ceiling);
    RUN(a_tenant_has_rules_of_its_own_in_addition);
    RUN(a_name_that_one_of_them_needs_must_be_said);
    RUN(what_cannot_be_read_is_an_error);
    return tap_done();
}
