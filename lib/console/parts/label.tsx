import { Badge } from '@mantine/core';

interface LabelProps {
  readonly color?: string;
  /** Is it somebody's own text, which breaks where it must? Words of the console stay whole, also in a narrow table. */
  readonly mayBreak?: boolean;
  readonly children: string;
}

/** A word about something, such as its state. Its colour says nothing that the word does not. */
export function Label({ color = 'gray', mayBreak = false, children }: LabelProps) {
  return (
    <Badge
      variant="outline"
      color={color}
      tt="none"
      fw={500}
      styles={{
        root: { maxWidth: '100%', height: 'auto', flexShrink: 0 },
        label: {
          color: 'var(--mantine-color-text)',
          overflow: 'visible',
          whiteSpace: 'normal',
          ...(mayBreak ? { minWidth: 0 } : { overflowWrap: 'normal' }),
        },
      }}
    >
      {children}
    </Badge>
  );
}
