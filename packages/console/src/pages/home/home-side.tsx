import type { Tool } from "@tendon/protocol";
import { type FormEvent, useState } from "react";
import type { Arguments } from "../../api/calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Slider, Switch } from "../../ui/controls.tsx";
import { TextInput } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/states.tsx";
import type { HomeState } from "./home-state.ts";

type Change = (tool: string, args: Arguments, expected: HomeState) => void;

/** Alarm, presence and the optional features of the home. */
export function HomeSide(props: {
  readonly home: HomeState;
  readonly tools: readonly Tool[];
  readonly disabled: boolean;
  readonly onChange: Change;
}) {
  const { home, tools, disabled, onChange } = props;
  const { t, number } = useI18n();
  const has = (name: string) => tools.some((tool) => tool.name === name);
  const lit = Object.values(home.lights).filter(Boolean).length;
  return (
    <Panel label={t("home.side")}>
      <div className="grid gap-4 p-4">
        <p className="flex items-center justify-between gap-3">
          <span className="text-soft">{t("home.lights")}</span>
          <span>{t("home.lit", { lit, all: Object.keys(home.lights).length })}</span>
        </p>
        <p className="flex items-center justify-between gap-3">
          <span className="flex items-center gap-2">
            <Icon name="bell" />
            {t(home.alarm ? "home.armed" : "home.disarmed")}
          </span>
          <Switch
            label={t("home.alarm")}
            checked={home.alarm}
            disabled={disabled}
            onChange={(armed) => onChange("set_alarm_state", { armed }, { ...home, alarm: armed })}
          />
        </p>
        {home.climate !== undefined && (
          <div className="grid gap-1">
            <p className="flex items-center justify-between gap-3">
              <span className="flex items-center gap-2">
                <Icon name="thermometer" />
                {number(Math.round(home.climate.temperature * 10) / 10)} °C
              </span>
              <span className="text-sm text-soft">
                {t("home.target", { degrees: number(home.climate.target) })}
              </span>
            </p>
            {has("set_thermostat") && (
              <Thermostat home={home} target={home.climate.target} disabled={disabled} onChange={onChange} />
            )}
          </div>
        )}
        {Object.entries(home.own).map(([name, value]) => (
          <p key={name} className="flex items-center justify-between gap-3">
            <span className="min-w-0 break-words text-soft">{name}</span>
            <span className="min-w-0 break-words text-right">
              {typeof value === "boolean"
                ? t(value ? "home.on" : "home.off")
                : typeof value === "number"
                  ? number(value)
                  : value}
            </span>
          </p>
        ))}
        <People home={home} editable={has("set_presence") && !disabled} onChange={onChange} />
      </div>
    </Panel>
  );
}

function Thermostat({
  home,
  target,
  disabled,
  onChange,
}: {
  readonly home: HomeState;
  readonly target: number;
  readonly disabled: boolean;
  readonly onChange: Change;
}) {
  const { t } = useI18n();
  const [pending, setPending] = useState<number>();
  return (
    <Slider
      label={t("home.thermostat")}
      min={5}
      max={30}
      step={0.5}
      value={pending ?? target}
      disabled={disabled}
      onChange={setPending}
      onCommit={(next) => {
        setPending(undefined);
        if (home.climate !== undefined)
          onChange(
            "set_thermostat",
            { target: next },
            { ...home, climate: { ...home.climate, target: next } },
          );
      }}
    />
  );
}

function People({
  home,
  editable,
  onChange,
}: {
  readonly home: HomeState;
  readonly editable: boolean;
  readonly onChange: Change;
}) {
  const { t } = useI18n();
  const [name, setName] = useState("");
  const set = (people: readonly string[]) =>
    onChange("set_presence", { people }, { ...home, people, present: people.length > 0 });
  const add = (event: FormEvent) => {
    event.preventDefault();
    const person = name.trim();
    if (person === "" || home.people.includes(person)) return;
    setName("");
    set([...home.people, person]);
  };
  return (
    <div className="grid gap-2">
      <p className="text-soft">
        {t(home.people.length === 0 ? (home.present ? "home.occupied" : "home.empty") : "home.people")}
      </p>
      <ul className="grid gap-1">
        {home.people.map((person) => (
          <li key={person} className="flex items-center justify-between">
            <span>{person}</span>
            {editable && (
              <IconButton
                icon="cross"
                label={t("home.leaves", { person })}
                onClick={() => set(home.people.filter((other) => other !== person))}
              />
            )}
          </li>
        ))}
      </ul>
      {editable && (
        <form onSubmit={add} className="flex gap-2">
          <TextInput
            aria-label={t("home.name")}
            placeholder={t("home.name")}
            maxLength={40}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
          <Button type="submit" icon="plus">
            {t("home.arrives")}
          </Button>
        </form>
      )}
    </div>
  );
}
