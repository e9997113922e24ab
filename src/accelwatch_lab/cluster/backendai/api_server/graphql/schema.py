"""The part of the schema that is served here: names and types as the real managers have them.

A field that is not here is refused in the words of the same library that the manager uses.
"""

from graphql import GraphQLSchema, build_schema

_TEXT = """
scalar DateTime
scalar UUID
scalar JSONString
scalar GlobalIDField

type Query {
  agent(agent_id: String!): Agent
  agents(scaling_group: String, status: String): [Agent]
  agent_list(limit: Int!, offset: Int!, filter: String, order: String, scaling_group: String,
    status: String): AgentList
  agent_summary_list(limit: Int!, offset: Int!, filter: String, order: String, scaling_group: String,
    status: String): AgentList
  compute_session(id: UUID!): ComputeSession
  compute_session_node(id: GlobalIDField!): ComputeSessionNode
  compute_session_list(limit: Int!, offset: Int!, filter: String, order: String, domain_name: String,
    group_id: UUID, access_key: String, status: String): ComputeSessionList
  keypair(domain_name: String, access_key: String): KeyPair
  user(domain_name: String, email: String): User
  scaling_groups(is_active: Boolean): [ScalingGroup]
}

type Mutation {
  modify_agent(id: String!, props: ModifyAgentInput!): ModifyAgent
}

input ModifyAgentInput {
  schedulable: Boolean
  scaling_group: String
}

type ModifyAgent {
  ok: Boolean
  msg: String
}

type AgentList {
  items: [Agent]
  total_count: Int
}

type Agent {
  id: ID
  status: String
  status_changed: DateTime
  region: String
  scaling_group: String
  schedulable: Boolean
  available_slots: JSONString
  occupied_slots: JSONString
  addr: String
  architecture: String
  first_contact: DateTime
  lost_at: DateTime
  live_stat: JSONString
  version: String
  compute_plugins: JSONString
  hardware_metadata: JSONString
  gpu_alloc_map: JSONString
  container_count: Int
}

type ComputeSessionList {
  items: [ComputeSession]
  total_count: Int
}

type ComputeSession {
  id: ID
  session_id: UUID
  tag: String
  name: String
  type: String
  image: String
  architecture: String
  cluster_template: String
  cluster_mode: String
  cluster_size: Int
  priority: Int
  domain_name: String
  group_id: UUID
  group_name: String
  user_id: UUID
  user_email: String
  full_name: String
  access_key: String
  agent_ids: [String]
  agents: [String]
  scaling_group: String
  status: String
  status_changed: DateTime
  status_history: JSONString
  status_info: String
  status_data: JSONString
  created_at: DateTime
  scheduled_at: DateTime
  starts_at: DateTime
  terminated_at: DateTime
  startup_command: String
  result: String
  mounts: [String]
  vfolder_mounts: [String]
  resource_opts: JSONString
  requested_slots: JSONString
  occupying_slots: JSONString
  occupied_slots: JSONString
  dependencies: [ComputeSession]
  containers: [ComputeContainer]
}

type ComputeSessionNode {
  row_id: UUID
  name: String
  status: String
  dependents: ComputeSessionConnection
  dependees: ComputeSessionConnection
}

type ComputeSessionConnection {
  edges: [ComputeSessionEdge]
}

type ComputeSessionEdge {
  node: ComputeSessionNode
}

type ComputeContainer {
  id: ID
  kernel_id: UUID
  session_id: UUID
  container_id: String
  agent: String
  agent_addr: String
  status: String
  status_changed: DateTime
  status_info: String
  cluster_role: String
  cluster_idx: Int
  cluster_hostname: String
  local_rank: Int
  image: String
  architecture: String
  occupied_slots: JSONString
  resource_opts: JSONString
  preopen_ports: [Int]
  created_at: DateTime
  starts_at: DateTime
  terminated_at: DateTime
}

type KeyPair {
  access_key: String
  is_active: Boolean
  is_admin: Boolean
  resource_policy: String
  user_id: String
}

type User {
  email: String
  role: String
  status: String
  domain_name: String
}

type ScalingGroup {
  name: String
  is_active: Boolean
  driver: String
  scheduler: String
}
"""


def schema() -> GraphQLSchema:
    """A new one."""
    return build_schema(_TEXT)
