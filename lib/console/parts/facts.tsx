import { Card, Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** What something is, and which. */
export type Fact = readonly [name: string, fact: ReactNode];

interface FactsProps {
  /** What they are about, for who cannot see the table. */
  readonly label: string;
  readonly facts: readonly Fact[];
}

/** A table of what is to be known of one thing. */
export function Facts({ label, facts }: FactsProps) {
  return (
    <Card withBorder p={0}>
      <Table aria-label={label} verticalSpacing="xs">
        <Table.Tbody>
          {facts.map(([name, fact]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" fw={500} w="8rem">
                {name}
              </Table.Th>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{fact}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
