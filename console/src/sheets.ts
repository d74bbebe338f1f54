/** Libraries write rules into style elements that they make, which the page's policy forbids. While `work` runs, such an
 * element is a hidden one whose text goes to a constructed sheet: the same rules, without a hole in the policy. The result
 * removes the sheets again. */
export function withSheets(work: () => void): () => void {
  const create = document.createElement;
  const sheets: CSSStyleSheet[] = [];
  const replaced = function (this: Document, name: string, options?: ElementCreationOptions): HTMLElement {
    if (name !== "style") return create.call(this, name, options) as HTMLElement;
    const holder = create.call(this, "span") as HTMLElement;
    const sheet = new CSSStyleSheet();
    const text = { get: () => "", set: (rules: string) => sheet.replaceSync(rules) };
    holder.hidden = true;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    sheets.push(sheet);
    Object.defineProperties(holder, { textContent: text, innerText: text });
    return holder;
  };
  document.createElement = replaced as typeof document.createElement;
  try {
    work();
  } finally {
    document.createElement = create;
  }
  return () => (document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet)));
}
