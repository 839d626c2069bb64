import { Group, List, Select, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ACCESS_LEVELS, type AccessLevel, useAccessRules, writeAccessRule } from '../../client/access-rules.ts';
import { useProjectMembers } from '../../client/organization.ts';
import { useSubmission } from '../form.ts';
import { Awaited, Problem } from '../problem.tsx';
import { RemoveIcon } from '../remove-icon.tsx';
import { useRenew } from '../renew.ts';
import { ScopedButton } from '../scoped-button.tsx';
import type { OfBoard } from './of-board.ts';

/** The access rules of a dashboard: one for everybody, and those of members. */
export default function AccessRules({ project, id, beside }: OfBoard) {
  const renew = useRenew();
  const asked = useAccessRules(project, id);
  const members = useProjectMembers(project);
  const writing = useSubmission();
  const [member, setMember] = useState<string | null>(null);
  if (asked.data === undefined) return <Awaited asked={asked} />;
  const { access_controls: rules, default_access_level, user_can_edit_access_levels: mayWrite } = asked.data;
  const set = (whom: string | null, level: AccessLevel | null): void =>
    void writing.attempt(async () => {
      await beside(() => writeAccessRule(project, id, whom, level));
      if (whom === member) setMember(null);
      await renew('access');
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
      <List listStyleType="none" spacing="sm">
        <List.Item>
          <Rule
            of="all members"
            level={everybody ?? default_access_level}
            mayWrite={mayWrite}
            change={(level) => set(null, level === default_access_level ? null : level)}
          />
        </List.Item>
        {named.map(({ uuid, level, email }) => (
          <List.Item key={uuid}>
            <Rule
              of={email}
              level={level}
              mayWrite={mayWrite}
              change={(next) => set(uuid, next)}
              remove={() => set(uuid, null)}
            />
          </List.Item>
        ))}
      </List>
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

interface RuleProps {
  /** Whom it is for. */
  readonly of: string;
  readonly level: AccessLevel;
  readonly mayWrite: boolean;
  readonly change: (level: AccessLevel) => void;
  /** Absent: the rule is always there. */
  readonly remove?: () => void;
}

function Rule({ of, level, mayWrite, change, remove }: RuleProps) {
  if (!mayWrite) {
    return (
      <Text size="sm">
        {of}: {ACCESS_LEVELS.find(({ value }) => value === level)?.label}
      </Text>
    );
  }
  return (
    <Group align="end" gap="xs" wrap="nowrap">
      <Select
        label={`What ${of} may do`}
        flex={1}
        data={ACCESS_LEVELS}
        value={level}
        allowDeselect={false}
        onChange={(value) => value !== null && value !== level && change(value)}
      />
      {remove !== undefined && <RemoveIcon size="input-sm" what={`the rule of ${of}`} onClick={remove} />}
    </Group>
  );
}
