import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { instantOf, zonedOf } from '../../client/local-time.ts';

interface UpToProps {
  /** ISO 8601; undefined: none is chosen. */
  readonly until: string | undefined;
  readonly choose: (until: string | undefined) => void;
}

/** A year that is being typed begins with zeros: `0002`, `0020`. Typed on, it has more digits than any that is asked for. */
const IN_TYPING = /^(?:0|\d{5})/;

/** A field of the instant up to which a list goes, by the clock of the reader. */
export function UpTo({ until, choose }: UpToProps) {
  const [typed, setTyped] = useState<{ readonly text: string; readonly beside: string | undefined } | null>(null);
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const kept = until === undefined ? '' : zonedOf(until);
  return (
    <TextInput
      type="datetime-local"
      max="9999-12-31T23:59"
      label={`Up to (${zone})`}
      value={typed?.beside === until ? (typed?.text ?? kept) : kept}
      onChange={(event) => {
        const text = event.currentTarget.value;
        if (IN_TYPING.test(text)) return setTyped({ text, beside: until });
        setTyped(null);
        return choose(text === '' ? undefined : instantOf(text));
      }}
    />
  );
}
