import { autocompletion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { defaultHighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintKeymap, setDiagnostics } from '@codemirror/lint';
import { Annotation, EditorState, type Text } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { Input } from '@mantine/core';
import { getNonce } from 'get-nonce';
import { useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react';
import { HOGQL, hogqlCompletions } from './hogql-completion.ts';

interface HogqlEditorProps {
  readonly value: string;
  readonly change: (value: string) => void;
  /** Asks, when Ctrl and Enter are pressed. */
  readonly run: () => void;
  readonly error: string | undefined;
}

/** The names of HogQL's functions, which the build puts in. */
declare const HOGQL_FUNCTIONS: readonly string[];

const LABEL = 'HogQL query';

/** The library marks faults with an image, which the page's policy refuses. */
const FAULT = EditorView.theme({
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--mantine-color-error)' },
});

/** A browser gives what is typed over a selection its style as an attribute, which the page's policy refuses. */
const TYPED_OVER = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data, inputType } = event;
    if (inputType !== 'insertText' || data === null || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch({ ...view.state.replaceSelection(data), userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** Returns where the fault is that the service tells of: from its place to the end of the word; undefined: it does not say. */
function placeOf(error: string, doc: Text): { readonly from: number; readonly to: number } | undefined {
  const [, line, column] = /\(line (\d+), column (\d+)\)$/.exec(error) ?? [];
  if (line === undefined || Number(line) > doc.lines) return undefined;
  const { from, text } = doc.line(Number(line));
  const before = Array.from(text)
    .slice(0, Number(column) - 1)
    .join('').length;
  const [word = ''] = /^(\w+|\W)?/.exec(text.slice(before)) ?? [];
  // Behind the end of the text there is nothing to mark but its end.
  const start = word === '' ? Math.max(0, before - 1) : before;
  return { from: from + start, to: from + before + word.length };
}

/** A text that was not typed here, such as that of somebody else. */
const FROM_OUTSIDE = Annotation.define<boolean>();

/** A query as text: highlighted, completed, undone. */
export default function HogqlEditor({ value, change, run, error }: HogqlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  /** Texts that were told and may still come as `value`, though what is typed meanwhile is newer. */
  const told = useRef(new Set<string>());
  const tell = useEffectEvent(change);
  const ask = useEffectEvent(run);
  useEffect(() => {
    if (place.current === null) return undefined;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(getNonce() ?? ''),
          EditorView.contentAttributes.of({ 'aria-label': LABEL }),
          EditorView.lineWrapping,
          lineNumbers(),
          history(),
          HOGQL.extension,
          autocompletion({ override: hogqlCompletions(HOGQL_FUNCTIONS) }),
          syntaxHighlighting(defaultHighlightStyle),
          FAULT,
          TYPED_OVER,
          keymap.of([
            { key: 'Mod-Enter', run: () => (ask(), true) },
            ...lintKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          EditorView.updateListener.of(({ docChanged, state, transactions }) => {
            if (!docChanged || transactions.some((one) => one.annotation(FROM_OUTSIDE) === true)) return;
            const text = state.doc.toString();
            told.current.add(text);
            tell(text);
          }),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, []);
  useLayoutEffect(() => {
    const { current: view } = editor;
    if (view === null) return;
    const { doc } = view.state;
    if (value === doc.toString()) told.current.clear();
    else if (!told.current.has(value))
      view.dispatch({ changes: { from: 0, to: doc.length, insert: value }, annotations: FROM_OUTSIDE.of(true) });
  }, [value]);
  useEffect(() => {
    const { current: view } = editor;
    if (view === null) return;
    const at = error === undefined ? undefined : placeOf(error, view.state.doc);
    const faults =
      at === undefined || error === undefined ? [] : [{ ...at, severity: 'error' as const, message: error }];
    view.dispatch(setDiagnostics(view.state, faults));
  }, [error]);
  return (
    <Input.Wrapper label={LABEL} description="Ctrl and Enter runs it" error={error} labelElement="div">
      <div ref={place} className="hogql-editor" />
    </Input.Wrapper>
  );
}
