import { Badge } from '@mantine/core';

interface LabelProps {
  readonly color?: string;
  readonly children: string;
}

/** A word about something, such as its state. Its colour says nothing that the word does not. */
export function Label({ color = 'gray', children }: LabelProps) {
  return (
    <Badge
      variant="outline"
      color={color}
      tt="none"
      fw={500}
      styles={{
        root: { maxWidth: '100%', height: 'auto', flexShrink: 0 },
        label: { color: 'var(--mantine-color-text)', minWidth: 0, overflow: 'visible', whiteSpace: 'normal' },
      }}
    >
      {children}
    </Badge>
  );
}
