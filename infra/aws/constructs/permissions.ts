import { Stack, Validations } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { flattenCfnReference } from 'cdk-nag/lib/utils/flatten-cfn-reference.js';

/** These actions on these resources, without conditions. */
export const allow = (actions: readonly string[], resources: readonly string[]): PolicyStatement =>
  new PolicyStatement({ actions: [...actions], resources: [...resources] });

/** Gives a role these permissions. `wildcards` says why some of their resources end in `*`. */
export function permit(role: IRole, statements: readonly PolicyStatement[], wildcards: string): void {
  const stack = Stack.of(role);
  for (const statement of statements) {
    role.addToPrincipalPolicy(statement);
    explainWildcards(
      role,
      statement.resources.map((resource) => flattenCfnReference(stack.resolve(resource))),
      wildcards,
    );
  }
}

/** Tells cdk-nag why these resources, as it writes them, end in `*`; others need no word. */
export function explainWildcards(role: IRole, resources: readonly string[], reason: string): void {
  for (const resource of resources) {
    if (resource.includes('*'))
      Validations.of(role).acknowledge({ id: `AwsSolutions-IAM5[Resource::${resource}]`, reason });
  }
}
