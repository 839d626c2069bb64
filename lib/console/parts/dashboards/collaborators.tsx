import { Group, List, Select, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMe, useProject } from '../../client/access.ts';
import { answered, api, type Schemas } from '../../client/api.ts';
import { type Dashboard, editLack, MAY_EDIT } from '../../client/dashboards.ts';
import { ADMIN, useProjectMembers } from '../../client/organization.ts';
import { useSubmission } from '../form.ts';
import { Problem } from '../problem.tsx';
import { RemoveIcon } from '../remove-icon.tsx';
import { useRenew } from '../renew.ts';
import { ScopedButton } from '../scoped-button.tsx';
import type { OfBoard } from './of-board.ts';

const EVERYONE = 21;
const COLLABORATORS = 37;

interface CollaboratorsProps extends OfBoard {
  readonly value: Dashboard;
  readonly write: (change: Schemas['DashboardsUpdateRequest']) => Promise<unknown>;
}

/** Who may edit a dashboard: every member, or those who are named. */
export function Collaborators({ project, id, value, write, beside }: CollaboratorsProps) {
  const renew = useRenew();
  const [member, setMember] = useState<string | null>(null);
  const writing = useSubmission();
  const path = { project_id: project, id };
  const { data, error } = useQuery({
    queryKey: ['collaborators', project, id],
    queryFn: () => answered(api.GET('/api/projects/{project_id}/dashboards/{id}/collaborators/', { params: { path } })),
  });
  const members = useProjectMembers(project);
  const others = (members.data?.results ?? []).filter(({ user }) =>
    data?.every(({ user_uuid: known }) => known !== user.uuid),
  );
  const attempt = (act: Promise<unknown>): void =>
    void writing.attempt(async () => {
      await act;
      await renew('collaborators');
    });
  const add = async (user_uuid: string): Promise<void> => {
    await beside(() =>
      answered(
        api.POST('/api/projects/{project_id}/dashboards/{id}/collaborators/', {
          params: { path },
          body: { level: MAY_EDIT, user_uuid },
        }),
      ),
    );
    setMember(null);
  };
  const remove = (user__uuid: string): Promise<unknown> =>
    beside(() =>
      answered(
        api.DELETE('/api/projects/{project_id}/dashboards/{id}/collaborators/{user__uuid}/', {
          params: { path: { ...path, user__uuid } },
        }),
      ),
    );
  const lacks = editLack(value);
  const [me, { data: at }] = [useMe().data, useProject(project)];
  // A rule may have made others a manager, who may not say it. A key that may not tell who it is leaves it open.
  const isSaidByRank = me == null || at === undefined || at.effective_membership_level >= ADMIN;
  const isTheirs = value.user_access_level === 'manager' && (isSaidByRank || me.uuid === value.created_by?.uuid);
  return (
    <Stack>
      {lacks !== undefined && <Text size="sm">{lacks}.</Text>}
      <Switch
        disabled={lacks !== undefined || !isTheirs}
        label="Only collaborators may edit"
        description={`And who made the dashboard, admins and owners. All others see it.${isTheirs ? '' : ' Only they change this.'}`}
        checked={value.restriction_level === COLLABORATORS}
        onChange={(event) =>
          attempt(write({ restriction_level: event.currentTarget.checked ? COLLABORATORS : EVERYONE }))
        }
      />
      <Problem error={error ?? members.error ?? writing.error} />
      {data?.length === 0 && <Text size="sm">There are no collaborators.</Text>}
      <List listStyleType="none" aria-label="Collaborators">
        {data?.map(({ user, level }) => (
          <List.Item key={user.uuid}>
            <Group gap="xs" mb={4}>
              <Text size="sm">
                {user.email} {level === MAY_EDIT ? 'edits' : 'sees'}
              </Text>
              {lacks === undefined && <RemoveIcon what={user.email} onClick={() => attempt(remove(user.uuid))} />}
            </Group>
          </List.Item>
        ))}
      </List>
      <Group align="end">
        <Select
          label="Member"
          data={others.map(({ user }) => ({ value: user.uuid, label: user.email }))}
          value={member}
          onChange={setMember}
        />
        <ScopedButton
          scope="dashboard:write"
          lacks={lacks}
          variant="default"
          disabled={member === null}
          onClick={() => member !== null && attempt(add(member))}
        >
          Add
        </ScopedButton>
      </Group>
    </Stack>
  );
}
