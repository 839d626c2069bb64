import { Button, Code, Group } from '@mantine/core';
import copy from 'copy-to-clipboard';
import { tell } from './problem.tsx';

/** Copies a text. Pages without TLS have no clipboard, but for those of this machine: an old command of browsers serves them. */
export async function copyText(text: string): Promise<void> {
  if (await copy(text)) tell('It is copied.');
  else tell(`The browser does not copy it. It is: ${text}`, 'orange');
}

interface CopiedProps {
  readonly value: string;
  /** What is copied, such as `the key`. */
  readonly what: string;
}

/** A text with the button that copies it. */
export function Copied({ value, what }: CopiedProps) {
  return (
    <Group gap="xs" wrap="nowrap" align="start">
      <Code block style={{ flex: 1, minWidth: 0, whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {value}
      </Code>
      <Button
        size="xs"
        variant="default"
        onClick={() => void copyText(value)}
        aria-label={`Copy ${what}`}
        style={{ flexShrink: 0 }}
      >
        Copy
      </Button>
    </Group>
  );
}
