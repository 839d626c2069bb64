import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { sql } from '@codemirror/lang-sql';
import { defaultHighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { Input } from '@mantine/core';
import { useEffect, useRef } from 'react';

interface HogqlEditorProps {
  readonly value: string;
  readonly change: (value: string) => void;
  /** Asks, when Ctrl and Enter are pressed. */
  readonly run: () => void;
  readonly error: string | undefined;
}

/** The columns that are completed, by table. */
const SCHEMA = {
  events: ['uuid', 'event', 'distinct_id', 'properties', 'timestamp', 'created_at', 'person_id', 'person.properties'],
  persons: ['id', 'created_at', 'properties', 'is_identified'],
  sessions: ['session_id', 'distinct_id', '$start_timestamp', '$end_timestamp', '$session_duration'],
};

const LABEL = 'HogQL query';

/** A query as text: highlighted, completed, undone. */
export default function HogqlEditor({ value, change, run, error }: HogqlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const first = useRef({ value, change, run });
  useEffect(() => {
    first.current = { ...first.current, change, run };
  }, [change, run]);
  useEffect(() => {
    if (place.current === null) return undefined;
    const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? '';
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: first.current.value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ 'aria-label': LABEL }),
          EditorView.lineWrapping,
          lineNumbers(),
          history(),
          sql({ schema: SCHEMA, upperCaseKeywords: true }),
          autocompletion(),
          syntaxHighlighting(defaultHighlightStyle),
          keymap.of([
            { key: 'Mod-Enter', run: () => (first.current.run(), true) },
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) first.current.change(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, []);
  return (
    <Input.Wrapper label={LABEL} description="Ctrl and Enter runs it" error={error} labelElement="div">
      <div ref={place} className="hogql-editor" />
    </Input.Wrapper>
  );
}
