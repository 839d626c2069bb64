import { Code, Table, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

interface PropertiesProps {
  readonly label: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** More of them come with a field that searches. */
const MANY = 12;

/** Properties as somebody has sent them: text, whatever they say. */
export function Properties({ label, properties }: PropertiesProps) {
  const [search, setSearch] = useState('');
  const all = Object.entries(properties).toSorted(([a], [b]) => a.localeCompare(b));
  const shown = all.filter(([name]) => name.toLowerCase().includes(search.toLowerCase()));
  return (
    <div>
      {all.length > MANY && (
        <TextInput
          label={`Search ${label.toLowerCase()}`}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          mb="xs"
        />
      )}
      {all.length === 0 ? (
        <Text size="sm">{label}: none.</Text>
      ) : (
        <Table aria-label={label} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="40%">{label}</Table.Th>
              <Table.Th>Value</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td>
                  <Code style={{ whiteSpace: 'pre-wrap' }}>{textOf(value)}</Code>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
