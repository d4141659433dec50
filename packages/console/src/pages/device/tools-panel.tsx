import type { DeviceDetail, Tool } from "@tendon/protocol";
import { useMemo, useState } from "react";
import { useI18n } from "../../i18n/i18n.tsx";
import { SearchInput } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/states.tsx";
import { groupOf } from "../../ui/tool-names.ts";
import { hashOf, useHash } from "./named-tool.tsx";
import { ToolRow } from "./tool-row.tsx";

/** From this many tools on, the list has a search field. */
const searchFrom = 15;
const maxShown = 100;

export function ToolsPanel(props: {
  readonly device: DeviceDetail;
  readonly title: string;
  readonly lead: string;
  readonly tools: readonly Tool[];
  readonly userOnly?: boolean;
  readonly problem?: string | undefined;
}) {
  const { device, title, lead, tools, userOnly = false, problem } = props;
  const { t, n } = useI18n();
  const [search, setSearch] = useState("");
  const hash = useHash();
  const groups = useMemo(() => grouped(tools, search, hash), [tools, search, hash]);
  return (
    <Panel
      title={
        <span className="flex items-center gap-2">
          {userOnly && (
            <span className="text-warn">
              <Icon name="lock" size={15} />
            </span>
          )}
          {title}
        </span>
      }
      actions={<span className="text-sm text-soft">{n("fleet.tools", tools.length)}</span>}
    >
      <div className="flex flex-col gap-2 px-4 pb-2">
        <p className="text-sm text-soft">{lead}</p>
        {problem !== undefined && <p className="text-sm text-warn">{t("tools.incomplete", { problem })}</p>}
        {tools.length >= searchFrom && (
          <SearchInput
            aria-label={t("tools.search")}
            placeholder={t("tools.search")}
            value={search}
            onChange={({ target }) => setSearch(target.value)}
          />
        )}
      </div>
      {tools.length === 0 && <p className="px-4 pb-4 text-soft">{t("tools.none")}</p>}
      {groups.map(({ name, members }) => (
        <div key={name}>
          {name !== "" && groups.length > 1 && (
            <h3 className="px-4 pt-3 pb-1 text-xs font-medium text-soft">{name}</h3>
          )}
          <ul className="divide-y divide-line border-t border-line first:border-t-0">
            {members.map((tool) => (
              <ToolRow key={tool.name} device={device} tool={tool} />
            ))}
          </ul>
        </div>
      ))}
    </Panel>
  );
}

interface Group {
  readonly name: string;
  readonly members: readonly Tool[];
}

/** Includes the tool that the address names, even beyond the limit. */
function grouped(tools: readonly Tool[], search: string, hash: string): Group[] {
  const needle = search.trim().toLowerCase();
  const found = tools.filter(
    ({ name, description }) => needle === "" || `${name} ${description}`.toLowerCase().includes(needle),
  );
  const shown = found.filter(({ name }, at) => at < maxShown || hashOf(name) === hash);
  return [...groupBy(shown)].map(([name, members]) => ({ name, members }));
}

function groupBy(tools: readonly Tool[]): Map<string, Tool[]> {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) groups.set(groupOf(tool.name), [...(groups.get(groupOf(tool.name)) ?? []), tool]);
  return groups;
}
