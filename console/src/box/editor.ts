// CodeMirror, as the files and the notebook use it.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { markdown } from "@codemirror/lang-markdown";
import { python } from "@codemirror/lang-python";
import { bracketMatching, defaultHighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { withSheets } from "../sheets.js";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";

const LANGUAGES: Readonly<Record<string, () => Extension>> = {
  py: python,
  python,
  js: javascript,
  mjs: javascript,
  javascript,
  ts: () => javascript({ typescript: true }),
  tsx: () => javascript({ typescript: true, jsx: true }),
  jsx: () => javascript({ jsx: true }),
  json,
  md: markdown,
};

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  /** A file's ending, or a language. */
  kind: string;
  label: string;
  readOnly?: boolean;
  /** What the text is compared with. */
  original?: string;
  keys?: Readonly<Record<string, () => void>>;
  onChange?: (text: string) => void;
}

export function editor(options: EditorOptions): EditorView {
  const own = Object.entries(options.keys ?? {}).map(([key, run]) => ({ key, run: () => (run(), true) }));
  const language = LANGUAGES[options.kind.toLowerCase()];
  const state = EditorState.create({
    doc: options.text,
    extensions: [
      keymap.of(own),
      lineNumbers(),
      highlightSpecialChars({ addSpecialChars: /[\u200c\u200d\u202a-\u202c\u2068]/g }), // shown by name: they change what a line seems to say
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
      keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": options.label }),
      EditorState.readOnly.of(options.readOnly ?? false),
      options.original === undefined ? [] : unifiedMergeView({ original: options.original, mergeControls: false }),
      EditorView.updateListener.of((update) => update.docChanged && options.onChange?.(update.state.doc.toString())),
      language ? language() : [],
    ],
  });
  let view: EditorView | undefined;
  withSheets(() => (view = new EditorView({ parent: options.parent, state }))); // all editors share these sheets: they stay
  view!.scrollDOM.tabIndex = 0; // long lines are read with the arrow keys
  return view!;
}
