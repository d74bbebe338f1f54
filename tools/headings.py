"""The anchors of a Markdown page's headings, as GitHub spells them."""
import re


def without_fences(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def slugs(text):
    """In the order of the headings; the second one of a name gets -1."""
    seen, found = {}, []
    for heading in re.findall(r"^#{1,6} +(.+?) *$", without_fences(text), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.append(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found
