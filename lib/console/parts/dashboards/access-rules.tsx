import { ActionIcon, CloseIcon, Group, Select, Stack, Table, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  ACCESS_LEVELS,
  type AccessLevel,
  accessKey,
  useAccessRules,
  writeAccessRule,
} from '../../client/access-rules.ts';
import { useMembers, useOrganizationId } from '../../client/organization.ts';
import { useSubmission } from '../form.ts';
import { Loading } from '../loading.tsx';
import { Problem } from '../problem.tsx';
import { ScopedButton } from '../scoped-button.tsx';

interface AccessRulesProps {
  readonly project: string;
  readonly id: number;
}

/** The access rules of a dashboard: one for everybody, and those of members. */
export default function AccessRules({ project, id }: AccessRulesProps) {
  const queries = useQueryClient();
  const { data, error } = useAccessRules(project, id);
  const members = useMembers(useOrganizationId(project));
  const writing = useSubmission();
  const [member, setMember] = useState<string | null>(null);
  if (data === undefined) return error === null ? <Loading /> : <Problem error={error} />;
  const { access_controls: rules, default_access_level, user_can_edit_access_levels: mayWrite } = data;
  const set = (whom: string | null, level: AccessLevel | null): void =>
    void writing.attempt(async () => {
      await writeAccessRule(project, id, whom, level);
      if (whom === member) setMember(null);
      await queries.invalidateQueries({ queryKey: accessKey(project, id) });
    });
  const people = members.data?.results ?? [];
  const everybody = rules.find(({ organization_member: whom }) => whom === null)?.access_level;
  const named = rules.flatMap(({ organization_member: uuid, access_level: level }) =>
    uuid === null ? [] : [{ uuid, level, email: people.find(({ user }) => user.uuid === uuid)?.user.email ?? uuid }],
  );
  const others = people.filter(({ user }) => named.every(({ uuid }) => uuid !== user.uuid));
  return (
    <Stack>
      <Text size="sm">
        Who made the dashboard, admins and owners do everything with it. Where only collaborators may edit it, a rule
        makes nobody one.
      </Text>
      {!mayWrite && <Text size="sm">You may not change these rules.</Text>}
      <Problem error={members.error ?? writing.error} />
      <Table aria-label="Access" verticalSpacing="xs">
        <Table.Tbody>
          <Table.Tr>
            <Table.Th scope="row" fw={500}>
              All members
            </Table.Th>
            <Table.Td>
              <LevelChoice
                of="all members"
                level={everybody ?? default_access_level}
                mayWrite={mayWrite}
                change={(level) => set(null, level === default_access_level ? null : level)}
              />
            </Table.Td>
            <Table.Td />
          </Table.Tr>
          {named.map(({ uuid, level, email }) => (
            <Table.Tr key={uuid}>
              <Table.Th scope="row" fw={500} style={{ overflowWrap: 'anywhere' }}>
                {email}
              </Table.Th>
              <Table.Td>
                <LevelChoice of={email} level={level} mayWrite={mayWrite} change={(next) => set(uuid, next)} />
              </Table.Td>
              <Table.Td>
                {mayWrite && (
                  <ActionIcon
                    variant="default"
                    aria-label={`Remove the rule of ${email}`}
                    onClick={() => set(uuid, null)}
                  >
                    <CloseIcon size="1rem" />
                  </ActionIcon>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {mayWrite && (
        <Group align="end">
          <Select
            label="Member"
            searchable
            data={others.map(({ user }) => ({ value: user.uuid, label: user.email }))}
            value={member}
            onChange={setMember}
          />
          <ScopedButton
            scope="access_control:write"
            variant="default"
            disabled={member === null}
            onClick={() => member !== null && set(member, 'viewer')}
          >
            Add a rule
          </ScopedButton>
        </Group>
      )}
    </Stack>
  );
}

interface LevelChoiceProps {
  /** Whom it is for. */
  readonly of: string;
  readonly level: AccessLevel;
  readonly mayWrite: boolean;
  readonly change: (level: AccessLevel) => void;
}

function LevelChoice({ of, level, mayWrite, change }: LevelChoiceProps) {
  if (!mayWrite) return <Text size="sm">{ACCESS_LEVELS.find(({ value }) => value === level)?.label}</Text>;
  return (
    <Select
      aria-label={`What ${of} may do`}
      size="xs"
      data={ACCESS_LEVELS}
      value={level}
      allowDeselect={false}
      onChange={(value) => value !== null && value !== level && change(value)}
    />
  );
}
