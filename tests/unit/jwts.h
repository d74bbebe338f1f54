/* Keys and tokens for tests: made once by the openssl command, the private keys were not kept. All tokens end in the
 * year 2100. */
#pragma once

/* clang-format off */
#define JWTS_EC_KEY \
    "{\"kid\":\"ec\",\"use\":\"sig\",\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"l13KQhau44dsXvTKxImlXgHEkls" \
    "_JSzzde7T52DFBJk\",\"y\":\"n4_3d5L1pZ1YePnu3Bj-0suDCEHP11n3djW5YOumv7I\"}"
#define JWTS_P384_KEY \
    "{\"kid\":\"p384\",\"use\":\"sig\",\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"jXAqrL8AcxIMWma33LSltTvdr" \
    "l_vxLikIcyEIrlQMI8-hBjW3O_LJ0PC0U4AseSl\",\"y\":\"500izZzxQQ06TougqDvNqlD9QbzshbN1V74YFviD2cHAkPemJ-" \
    "hHC8cR2qYfOOEe\"}"
#define JWTS_ED_KEY \
    "{\"kid\":\"ed\",\"use\":\"sig\",\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"YPblMZjoimRLzeI8AVeMtFNX" \
    "SCWt8IhAfDlnvMsiGN4\"}"
#define JWTS_RSA_KEY \
    "{\"kid\":\"rsa\",\"use\":\"sig\",\"kty\":\"RSA\",\"n\":\"thDNcaDZ9YQwSuqmGYWFFuWkfky3iTd9ftezZMqiDvv" \
    "oHMfBEMZ3YzjIkAu_5A2_jTWCFyIOP0-iXtqVtcpGbnsGv_Ole9lT_N4QR2R5Xtxj5qKzn7ZlUKYgS1U2zDl6IQmPyuFZ3omQQnB" \
    "f16_1tX595VR63tJMNPxanbsqNvlAmvka6bICBNEitgrTkZdW6H66g4lL_NQyV35wgllGnOzzK4i__vOnvsXfrXdZQRFQWPopi8o" \
    "wE-8WwHp6_NW4P0xkAX3xMB0uJZ7OxuoAzbGUI0WsmexWIgWjY9mCtUfwunChL35g0G8RnbzoZAaUHJN91JtXxoKS2xfeFyZUNw" \
    "\",\"e\":\"AQAB\"}"
#define JWTS_SMALL_RSA_KEY \
    "{\"kid\":\"small\",\"use\":\"sig\",\"kty\":\"RSA\",\"n\":\"ysWdJZ_o0q0NuB8lqYqY1wuxS7zE5w93OynI6jzmW" \
    "aLxiuU1WQQL-9EnBurvr8aO15z6pQlgq4AM9tRGB1ZZFFrv1i2FuF_qMBzDjjko2CTrxVwtXF0w-fn42wkfdIAEuiGMokVmRcJUO" \
    "z_AOPwqCKSrD2tEBcaHaVmiSPPyrq0\",\"e\":\"AQAB\"}"
#define JWTS_EC_TOKEN \
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3Vi" \
    "IjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.FAO13ELh2rpDKtvjr8dpGVpkOo9sAmRRvkExx7oxbvJj4e6Mb2RGw2c7XetuR5w" \
    "7VIThAaVpS89AdCuUr_qG2A"
#define JWTS_P384_TOKEN \
    "eyJhbGciOiJFUzM4NCIsImtpZCI6InAzODQifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic" \
    "3ViIjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.3hWJPJVYSfWFPruzr_VbTqEAm5lOTSzSzJPK-cK0qXpfSgXTneps1G-3hNUp" \
    "z0iMZRJlR8jzLuomi-G8T5ssPVJnI1REuMQKMZEVyT2T9DaeP-3X2P-4j8WA9Wi9a-7g"
#define JWTS_ED_TOKEN \
    "eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3Vi" \
    "IjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.lMzdGOu-YhF96bf07in2GrvFytDkU3uShHje8Qp57FqriGMF1PuM6PEDVW9Ln72" \
    "iyu6oUN3vwX609EFJJOjhDw"
#define JWTS_RS256_TOKEN \
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3V" \
    "iIjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.Qpk0mdZqRxOrqfAIg9IzkJWr0j7zkO7IKsBbjQXJgT07OBAiYRG9Yl1wnCoVWR" \
    "o9h_V6POIgdCsKUATQsEkefya8a-Q0WJsCvoDQ6cm03pMrhCxoBGGMWMKzZ8nM7k9wW6IZOVz7J3_NXm_uJrI_6fw60959AvWp9D" \
    "PmW62hFtw2yDGTVITLH39_ah5q7H4jFAucrnqpZe4xnhxXR-rV6VUjCzmHKVtJ1ElEL3FQOlO7jK4Sj3TlSPE4QeVpN06MAPzogS" \
    "giupV2G2mh4TwjA92bZF-5KpO-Nll9PnxVT1PGForMjX5yZxn_votLfmJOAdccycE_OPD6igtbnGOJsg"
#define JWTS_PS256_TOKEN \
    "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3V" \
    "iIjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.mw6VQbWFXfFjc0tWi25oQ5RZNpCMnlv4MEcHdc2ZQ0aUhLm3seD717An_HkhG7" \
    "Bp4021UGwQtUH7rre-ugMsMuJ47_qFOBgEEE5D7uNcfEPqUxBwi0APjyGCtnbl7UBGhW8JiiAONJeLyjPzm29jnyPHBmq4d7Mq7H" \
    "XzezkK1wBeKk4RLxoNos1-FkyunAKsPP6TepCVx9JUGMIXA_WPSL4SFEU29L7xxxPay6redzQylE0dtb7I8DPrcg9berUfCn1dt1" \
    "xe4OPRjuRNm30_hekvwwpfQQeJOemknx8ceEsDbB2gryYMPGme6StiAW7gsnwESH8uE_D-LgbWGUYCOg"
#define JWTS_SMALL_TOKEN \
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InNtYWxsIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwi" \
    "c3ViIjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.Ia7mmyNKt5ubwd-2X_FpzBGM2XTXXhsomOHOVxHXtCP-CviqbPFHsxAmUh8" \
    "RUiM0i6yFuH201RqPnZET_ZqkEXF0KprsB_Iam0tyV0DeDqo3bZ0EkoLrm1apozeHugaHbQqVexi6c0FXkVssR5tqNQil5Kz7ZVJ" \
    "db8AE9b8RM2k"
#define JWTS_OTHER_KEY_TOKEN \
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3Vi" \
    "IjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDB9.CONYzS8izXTWqNWL66LSd3GXt0XjjnsWr8wPkZPS_D51hzY5b8AwJN5g9xxhuK7" \
    "2wrJLdG8gGRU3Nk5sbK4rMw"
#define JWTS_NO_KID_TOKEN \
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3ViIjoiYWxpY2UiLCJ" \
    "leHAiOjQxMDI0NDQ4MDB9.YWrsSpmr5J_DvicLAW8m2MikgOIb2BlSvmWKbR2ko8nDonc78F3PfJzuwmmdmOoWz6C_pQyQFr4FfT" \
    "YNHUJtyA"
#define JWTS_PATHS_TOKEN \
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaWlpIiwic3Vi" \
    "IjoiYWxpY2UiLCJleHAiOjQxMDI0NDQ4MDAsImEiOnsiYiI6eyJjIjoiZGVlcCJ9fSwieC55IjoiZmxhdCIsIngiOnsieSI6Im5l" \
    "c3RlZCJ9fQ.Dynh7tsWwaYHUSzzia63KMEznpk_4ohuvZlShPW0O5-PZiyOM_7iVZlX7grbabKVzdZQyruCFfysUFsMx6g1fA"
/* clang-format on */
