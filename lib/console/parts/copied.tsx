import { Button, Code, CopyButton, Group } from '@mantine/core';

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
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" onClick={copy} aria-label={`Copy ${what}`} style={{ flexShrink: 0 }}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
