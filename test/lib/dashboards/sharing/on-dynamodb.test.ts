import { LEVELS } from '../../../../lib/accounts/organizations/model.ts';
import { dynamodbTable } from '../../../../lib/ports/table/dynamodb.ts';
import { START } from '../../../support/context.ts';
import { dashboards } from '../../../support/dashboards.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../../../support/dynamodb-local.ts';

describeOnDynamodb('on DynamoDB', () => {
  test('collaborators, access rules and links do the same', async () => {
    const client = await dynamodbClient();
    const tableName = await createTable(client);
    const { dashboard, call, service, found } = await dashboards(
      dynamodbTable({ client, tableName, clock: () => START }),
    );
    const { id } = await dashboard();
    const path = `/dashboards/${id}`;
    const { uuid: user_uuid } = await service.newUser(LEVELS.member);
    const statuses = [];
    for (const [method, where, body] of [
      ['POST', '/collaborators', { level: 37, user_uuid }],
      ['POST', '/collaborators', { level: 37, user_uuid }],
      ['DELETE', `/collaborators/${user_uuid}`],
      ['DELETE', `/collaborators/${user_uuid}`],
      ['PUT', '/access_controls', { access_level: 'none', organization_member: user_uuid }],
      ['PUT', '/access_controls', { access_level: null, organization_member: user_uuid }],
      ['PATCH', '/sharing', { enabled: true }],
      ['POST', '/sharing/refresh'],
      ['PATCH', '/sharing', { enabled: false }],
      ['PATCH', '/sharing', { enabled: true }],
    ] as const) {
      statuses.push((await call(method, `${path}${where}/`, body)).status);
    }
    expect(statuses).toEqual([201, 400, 204, 404, 200, 204, 200, 200, 200, 200]);
    const { body } = await call('GET', `${path}/sharing/`);
    const page = await service.call('GET', `/shared/${String(body?.['access_token'])}`, { key: null });
    expect(page.status).toBe(200);
    expect((await found(id))['is_shared']).toBe(true);
    expect((await call('GET', `${path}/collaborators/`)).body).toEqual([]);
  });
});
