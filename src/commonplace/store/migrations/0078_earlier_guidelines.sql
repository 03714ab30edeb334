-- kind: data
-- Guidelines of before were shown to every agent as the team's.
update guideline set confirmed_by = updated_by;
