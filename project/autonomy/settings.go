package autonomy

import (
	"flame/core"
	"flame/project"
	"flame/project/learned"
)

const (
	settingAutonomy project.Setting[core.AutonomyConfig] = "autonomy"

	recordAutonomyStats project.Kind[core.AutonomyStats] = "stats"
	statAutonomy        string                           = "autonomy" // the only id
)

// configured returns the settings as they are set.
func configured(s *project.Step) (core.AutonomyConfig, error) {
	return settingAutonomy.In(s.Tx, s.Project.Autonomy)
}

// configOf returns the settings in force: as they are set and, if that is to apply, as was
// learned.
func configOf(s *project.Step) (core.AutonomyConfig, error) {
	config, err := configured(s)
	if err != nil {
		return config, err
	}
	return learned.Apply(s, config)
}

// Judges reports whether flame judges by itself what happens: at level manual it does not.
func Judges(s *project.Step) (bool, error) {
	config, err := configOf(s)
	return config.Level != core.AutonomyManual && !s.Project.Late, err
}

// UpdateStats applies count to the counters.
func UpdateStats(s *project.Step, count func(*core.AutonomyStats)) error {
	var stats core.AutonomyStats
	if _, err := recordAutonomyStats.Load(s.Tx, statAutonomy, &stats); err != nil {
		return err
	}
	count(&stats)
	return recordAutonomyStats.Save(s.Tx, statAutonomy, stats)
}
