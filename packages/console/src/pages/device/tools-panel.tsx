import type { DeviceDetail, Tool } from "@tendon/protocol";
import { useMemo, useState } from "react";
import { useI18n } from "../../i18n/i18n.tsx";
import { SearchInput } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/states.tsx";
import { hashOf, useHash } from "./named-tool.tsx";
import { groupByPurpose, type ToolGroup } from "./tool-purposes.ts";
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
      {groups.map(({ id, icon, label, name, tools: members }) => (
        <div key={id} className="border-t border-line">
          {groups.length > 1 && (
            <h3 className="flex items-center gap-1.5 px-4 pt-3 pb-1 text-xs font-medium text-soft">
              {icon !== undefined && <Icon name={icon} size={13} />}
              {label === undefined ? (name === "" ? t("purpose.other") : name) : t(label)}
            </h3>
          )}
          <ul className="divide-y divide-line">
            {members.map((tool) => (
              <ToolRow key={tool.name} device={device} tool={tool} />
            ))}
          </ul>
        </div>
      ))}
    </Panel>
  );
}

/** Includes the tool that the address names, even beyond the limit. */
function grouped(tools: readonly Tool[], search: string, hash: string): ToolGroup[] {
  const needle = search.trim().toLowerCase();
  const found = tools.filter(
    ({ name, description }) => needle === "" || `${name} ${description}`.toLowerCase().includes(needle),
  );
  return groupByPurpose(found.filter(({ name }, at) => at < maxShown || hashOf(name) === hash));
}
